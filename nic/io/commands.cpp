#include "nic/io/commands.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

#include "common/dcb/dcb_request.hpp"

namespace vroce::nic {
namespace {

using nlohmann::json;

const Error kStopping{"the NIC is stopping"};

/// Refuses what nobody would look at.
Status only_keys(const json& args, std::initializer_list<std::string> allowed) {
    std::string list;
    for (const std::string& key : allowed) list += (list.empty() ? "" : ", ") + key;
    if (list.empty()) list = "none";
    if (!args.is_object()) return Error{fmt::format("args is not an object; allowed keys: {}", list)};
    for (const auto& [key, value] : args.items()) {
        if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
        return Error{fmt::format("unknown argument {}; allowed: {}", json(key).dump(-1, ' ', true), list)};
    }
    return Done{};
}

}  // namespace

Commands::Commands(const NicOptions& options, const Endpoints& endpoints, Worker& worker, Mailbox& mailbox,
                   const MbufPool& pool)
    : options_(options),
      endpoints_(endpoints),
      worker_(worker),
      mailbox_(mailbox),
      pool_(pool),
      pfc_priorities_(options.pfc_priorities) {}

Commands::~Commands() {
    if (capture_) detach_capture();
}

void Commands::register_at(ControlServer& server) {
    const auto plain = [&](const char* command, Result<json> (Commands::*function)()) {
        server.handle(command, [this, function](const json& args) -> Result<json> {
            if (Status s = only_keys(args, {}); !s) return Error{s.error()};
            return (this->*function)();
        });
    };
    plain("status", &Commands::status);
    plain("counters", &Commands::counters);
    plain("endpoints", &Commands::endpoints);
    plain("qp", &Commands::qps);
    plain("mr", &Commands::mrs);
    plain("fault.show", &Commands::fault_show);
    plain("capture.stop", &Commands::capture_stop);
    server.handle("fault.set", [this](const json& args) { return fault_set(args); });
    server.handle("fault.clear", [this](const json& args) { return fault_clear(args); });
    server.handle("dcb.set", [this](const json& args) { return dcb_set(args); });
    server.handle("dcb.show", [this](const json& args) { return dcb_show(args); });
    server.handle("capture.start", [this](const json& args) { return capture_start(args); });
}

Result<Snapshot> Commands::snapshot() {
    Snapshot out;
    if (!mailbox_.call([&] { out = take_snapshot(worker_, pool_); })) return kStopping;
    return out;
}

Result<json> Commands::status() {
    const Result<Snapshot> now = snapshot();
    if (!now) return Error{now.error()};
    json ports = json::array();
    ports.push_back({{"name", "uplink"},
                     {"link_up", now->link_up},
                     {"speed_bps", options_.speed_bps},
                     {"device", options_.uplink}});
    for (const EndpointOptions& e : options_.endpoints) {
        ports.push_back({{"name", e.name}, {"link_up", true}, {"interface", e.interface}, {"mac", text_of(e.mac)}});
    }
    return json{{"name", options_.name},    {"kind", "nic"},  {"pid", ::getpid()},
                {"version", VROCE_VERSION}, {"ports", ports}, {"capture", capture_file_}};
}

Result<json> Commands::counters() {
    const Result<Snapshot> now = snapshot();
    if (!now) return Error{now.error()};
    return counters_json(*now);
}

Result<json> Commands::endpoints() {
    json out = json::array();
    for (const auto& endpoint : endpoints_) out.push_back(endpoint->show());
    return out;
}

/// One list of all endpoints' lists.
Result<json> Commands::join(json (Endpoint::*show)() const) const {
    json out = json::array();
    for (const auto& endpoint : endpoints_) {
        for (json& element : (endpoint.get()->*show)()) out.push_back(std::move(element));
    }
    return out;
}

Result<json> Commands::qps() {
    return join(&Endpoint::show_qps);
}

Result<json> Commands::mrs() {
    return join(&Endpoint::show_mrs);
}

std::string Commands::port_names() const {
    std::string names = "uplink";
    for (const EndpointOptions& e : options_.endpoints) names += ", " + e.name;
    return names;
}

Result<std::string> Commands::port_in(const json& args) const {
    if (!args.is_object() || !args.contains("dev") || !args["dev"].is_string()) {
        return Error{fmt::format("\"dev\" is missing; allowed: {}", port_names())};
    }
    const auto& name = args["dev"].get_ref<const std::string&>();
    const auto& all = options_.endpoints;
    if (name == "uplink" || std::any_of(all.begin(), all.end(), [&](const auto& e) { return e.name == name; }))
        return name;
    return Error{fmt::format("dev {}: no such port; allowed: {}", args["dev"].dump(-1, ' ', true), port_names())};
}

Result<json> Commands::apply_fault(const std::string& port, const FaultRequest& request) {
    Status done = Done{};
    if (!mailbox_.call([&] { done = worker_.find_port(port)->set_fault(worker_.now(), request); })) return kStopping;
    if (!done) return Error{"dev " + port + ": " + done.error()};
    return fault_to_json(request);
}

Result<json> Commands::fault_set(const json& args) {
    const Result<std::string> port = port_in(args);
    if (!port) return Error{port.error()};
    const Result<FaultRequest> request = fault_from_json(args);
    if (!request) return Error{request.error()};
    return apply_fault(*port, *request);
}

Result<json> Commands::fault_clear(const json& args) {
    if (Status s = only_keys(args, {"dev"}); !s) return Error{s.error()};
    const Result<std::string> port = port_in(args);
    if (!port) return Error{port.error()};
    return apply_fault(*port, {.settings = {}, .direction = FaultDirection::Both});
}

/// Only ports on which something is set.
Result<json> Commands::fault_show() {
    const Result<Snapshot> now = snapshot();
    if (!now) return Error{now.error()};
    json out = json::object();
    for (const PortSnapshot& port : now->ports) {
        if (port.fault.active()) out[port.name] = fault_to_json(port.fault);
    }
    return out;
}

/// A NIC's queues are its own affair; which priorities are lossless both ends of the link must agree on.
Status Commands::only_uplink_pfc(const json& args) const {
    const Result<std::string> port = port_in(args);
    if (!port) return Error{port.error()};
    if (*port != "uplink") return Error{fmt::format("dev {}: no flow control there; allowed: uplink", *port)};
    if (args.value("object", json()) == json("pfc")) return Done{};
    return Error{"a NIC has pfc only; allowed: pfc"};
}

Result<json> Commands::dcb_set(const json& args) {
    if (Status s = only_uplink_pfc(args); !s) return Error{s.error()};
    Result<DcbRequest> request = dcb_from_json(args);
    if (!request) return Error{request.error()};
    unsigned mask = pfc_priorities_;
    for (const auto& [priority, on] : request->tables["prio-pfc"])
        mask = on != 0 ? mask | 1U << priority : mask & ~(1U << priority);
    pfc_priorities_ = static_cast<std::uint8_t>(mask);
    if (!mailbox_.call([&] { worker_.set_pfc(pfc_priorities_); })) return kStopping;
    return json::array();
}

Result<json> Commands::dcb_show(const json& args) {
    if (Status s = only_keys(args, {"dev", "object"}); !s) return Error{s.error()};
    if (Status s = only_uplink_pfc(args); !s) return Error{s.error()};
    json entries = json::array();
    for (unsigned p = 0; p < kPriorities; ++p) entries.push_back({p, pfc_priorities_ >> p & 1U});
    return json{{"prio-pfc", entries}};
}

Result<json> Commands::capture_start(const json& args) {
    if (Status s = only_keys(args, {"file", "dev"}); !s) return Error{s.error()};
    if (!args.contains("file") || !args["file"].is_string() ||
        args["file"].get_ref<const std::string&>().rfind('/', 0) != 0) {
        return Error{"\"file\" is missing; allowed: an absolute path"};
    }
    Result<std::string> port = std::string("uplink");
    if (args.contains("dev")) port = port_in(args);
    if (!port) return Error{port.error()};
    if (capture_) return Error{fmt::format("a capture into {} is running; one at a time is allowed", capture_file_)};
    Result<std::unique_ptr<Capture>> capture = Capture::start(args["file"]);
    if (!capture) return Error{capture.error()};
    capture_ = std::move(*capture);
    capture_file_ = args["file"];
    if (!mailbox_.call([&] { worker_.find_port(*port)->set_capture(capture_.get()); })) return kStopping;
    return json{{"file", capture_file_}, {"dev", *port}};
}

void Commands::detach_capture() {
    mailbox_.call([&] {
        worker_.uplink().set_capture(nullptr);
        for (const auto& tap : worker_.taps()) tap->set_capture(nullptr);
    });
}

Result<json> Commands::capture_stop() {
    if (!capture_) return Error{"no capture is running"};
    detach_capture();
    json out{{"file", capture_file_}, {"missed", capture_->missed()}};
    capture_.reset();
    capture_file_.clear();
    return out;
}

}  // namespace vroce::nic
