// One function for each command.
#include "switch/io/commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <map>

#include "pfc/storm_check.hpp"
#include "switch/config/dcb.hpp"
#include "switch/io/buffer_plan.hpp"

namespace vroce::sw {
namespace {

using nlohmann::json;

const Error kStopping{"the switch is stopping"};

Status only_keys(const json& args, std::initializer_list<const char*> allowed) {
    std::string list;
    for (const char* key : allowed) list += (list.empty() ? "" : ", ") + std::string(key);
    if (!args.is_object()) return Error{fmt::format("args is not an object; allowed: {}", list.empty() ? "{}" : list)};
    for (const auto& [key, value] : args.items()) {
        bool known = false;
        for (const char* one : allowed) known |= key == one;
        if (!known)
            return Error{fmt::format("unknown argument \"{}\"; allowed: {}", key, list.empty() ? "none" : list)};
    }
    return Done{};
}

}  // namespace

Commands::Commands(std::string name, const LoadedConfig& config, Switch& core, IoPorts& ports, Worker& worker,
                   MbufPool& pool, Mailbox& mailbox)
    : name_(std::move(name)),
      config_(config),
      core_(core),
      ports_(ports),
      worker_(worker),
      pool_(pool),
      mailbox_(mailbox),
      current_(config.core) {}

void Commands::register_at(ControlServer& server) {
    const auto plain = [&server, this](const char* command, Result<json> (Commands::*function)()) {
        server.handle(command, [this, function](const json& args) -> Result<json> {
            if (Status status = only_keys(args, {}); !status) return Error{status.error()};
            return (this->*function)();
        });
    };
    plain("status", &Commands::status);
    plain("counters", &Commands::counters);
    plain("fdb", &Commands::fdb);
    plain("buffer.holders", &Commands::buffer_holders);
    plain("fault.show", &Commands::fault_show);
    plain("capture.stop", &Commands::capture_stop);
    server.handle("fault.set", [this](const json& args) { return fault_set(args); });
    server.handle("fault.clear", [this](const json& args) { return fault_clear(args); });
    server.handle("dcb.set", [this](const json& args) { return dcb_set(args); });
    server.handle("dcb.show", [this](const json& args) { return dcb_show(args); });
    server.handle("capture.start", [this](const json& args) { return capture_start(args); });
}

Result<Snapshot> Commands::snapshot(bool with_stations) {
    Snapshot snapshot;
    for (std::size_t i = 0; i < config_.core->ports.size(); ++i) {
        PortSnapshot port;
        port.config = config_.core->ports[i];
        port.device = config_.devices[i];
        snapshot.ports.push_back(std::move(port));
    }
    const bool ran = on_worker([&] {
        take_snapshot(snapshot, core_, ports_, worker_, pool_);
        if (with_stations) snapshot.stations = core_.fdb().entries(worker_.now());
    });
    if (!ran) return kStopping;
    return snapshot;
}

Result<json> Commands::status() {
    const Result<Snapshot> now = snapshot(false);
    if (!now) return Error{now.error()};
    return json{{"name", name_},
                {"kind", "switch"},
                {"pid", getpid()},
                {"version", VROCE_VERSION},
                {"ports", ports_json(*now)},
                {"capture", capture_file_}};
}

Result<json> Commands::counters() {
    const Result<Snapshot> now = snapshot(false);
    if (!now) return Error{now.error()};
    return counters_json(*now);
}

Result<json> Commands::fdb() {
    const Result<Snapshot> now = snapshot(true);
    if (!now) return Error{now.error()};
    return fdb_json(*now);
}

Result<json> Commands::fdb_telemetry() {
    const Result<Snapshot> now = snapshot(true);
    if (!now) return Error{now.error()};
    return fdb_telemetry_json(*now);
}

Result<json> Commands::ports_telemetry() {
    const Result<Snapshot> now = snapshot(false);
    if (!now) return Error{now.error()};
    json by_name = json::object();
    for (json& port : ports_json(*now)) by_name[port["name"].get<std::string>()] = port;
    return by_name;
}

Result<IoPort*> Commands::port_of(const json& args) const {
    const auto dev = args.is_object() ? args.find("dev") : args.end();
    if (!args.is_object() || dev == args.end() || !dev->is_string()) {
        return Error{fmt::format("\"dev\" is missing; allowed: {}", ports_.names())};
    }
    IoPort* port = ports_.find(dev->get<std::string>());
    if (port == nullptr) {
        return Error{
            fmt::format("dev {}: no such port with a device; allowed: {}", dev->dump(-1, ' ', true), ports_.names())};
    }
    return port;
}

Result<json> Commands::apply_fault(IoPort& port, const FaultRequest& request) {
    const auto has = [&request](FaultDirection direction) {
        return (static_cast<unsigned>(request.direction) & static_cast<unsigned>(direction)) != 0;
    };
    Status allowed = Done{};
    const bool ran = on_worker([&] {
        FlowControl& flow = core_.flow_control(port.id);
        allowed = check_storm(flow.settings(), request.pfc_storm, request.pfc_storm_tx);
        if (!allowed) return;
        core_.tx(port.id)->fault().set(has(FaultDirection::Tx) ? request.settings : FaultSettings{});
        port.rx_fault.set(has(FaultDirection::Rx) ? request.settings : FaultSettings{});
        flow.receiver().set_storm(worker_.now(), request.pfc_storm);
        flow.sender().set_storm(request.pfc_storm_tx);
        port.fault = request;
    });
    if (!ran) return kStopping;
    if (!allowed) return Error{fmt::format("dev {}: {}", port.name, allowed.error())};
    json answer = fault_to_json(request);
    const std::vector<std::string> notes = delay_notes(*current_, port.id, request);
    if (!notes.empty()) answer["notes"] = notes;
    return answer;
}

Result<json> Commands::fault_set(const json& args) {
    const Result<IoPort*> port = port_of(args);
    if (!port) return Error{port.error()};
    const Result<FaultRequest> request = fault_from_json(args);
    if (!request) return Error{request.error()};
    return apply_fault(**port, *request);
}

Result<json> Commands::fault_clear(const json& args) {
    if (Status status = only_keys(args, {"dev"}); !status) return Error{status.error()};
    const Result<IoPort*> port = port_of(args);
    if (!port) return Error{port.error()};
    return apply_fault(**port, FaultRequest{.settings = {}, .direction = FaultDirection::Both});
}

/// Only ports on which something is set.
Result<json> Commands::fault_show() {
    json shown = json::object();
    std::vector<FaultRequest> requests(ports_.ports.size());
    const bool ran = on_worker([&] {
        for (std::size_t i = 0; i < requests.size(); ++i) requests[i] = ports_.ports[i]->fault;
    });
    if (!ran) return kStopping;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].active()) shown[ports_.ports[i]->name] = fault_to_json(requests[i]);
    }
    return shown;
}

/// Which priority group of which port holds which queue of which other: who is slowed down by whom.
Result<json> Commands::buffer_holders() {
    struct Held {
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
    };
    // in port, priority group, out port, queue
    std::map<std::array<unsigned, 4>, Held> holders;
    const bool ran = on_worker([&] {
        for (const auto& port : ports_.ports) {
            const Egress& egress = core_.tx(port->id)->egress();
            for (unsigned queue = 0; queue < kQueues; ++queue) {
                egress.for_each_queued(queue, [&](const Packet& packet) {
                    Held& held = holders[{packet.meta.in_port, packet.meta.priority, port->id, queue}];
                    ++held.packets;
                    held.bytes += packet.length;
                });
            }
        }
    });
    if (!ran) return kStopping;
    json list = json::array();
    for (const auto& [key, held] : holders) {
        list.push_back({{"ingress", config_.core->ports[key[0]].name},
                        {"priority_group", key[1]},
                        {"egress", config_.core->ports[key[2]].name},
                        {"queue", key[3]},
                        {"packets", held.packets},
                        {"bytes", held.bytes}});
    }
    return list;
}

/// Changes the configuration that runs, whole or not at all; answers with a line for each thing that follows from it.
Result<json> Commands::dcb_set(const json& args) {
    const Result<IoPort*> port = port_of(args);
    if (!port) return Error{port.error()};
    const Result<DcbRequest> request = dcb_from_json(args);
    if (!request) return Error{request.error()};
    Result<DcbChange> change = apply_dcb(*current_, (*port)->id, *request);
    if (!change) return Error{change.error()};
    const Result<std::vector<std::string>> raised = plan_port_buffers(change->config);
    if (!raised) return Error{raised.error()};
    current_ = std::make_shared<const SwitchConfig>(std::move(change->config));
    if (!on_worker([&] { core_.apply_qos(worker_.now(), current_); })) return kStopping;
    json lines = change->notes;
    for (const std::string& line : *raised) lines.push_back(line);
    return lines;
}

Result<json> Commands::dcb_show(const json& args) {
    if (Status status = only_keys(args, {"dev", "object"}); !status) return Error{status.error()};
    const Result<IoPort*> port = port_of(args);
    if (!port) return Error{port.error()};
    const auto object = args.find("object");
    if (object == args.end() || !object->is_string())
        return Error{fmt::format("\"object\" is missing; allowed: {}", dcb_objects())};
    const Result<DcbTables> tables = show_dcb(*current_, (*port)->id, object->get<std::string>());
    if (!tables) return Error{tables.error()};
    json shown = json::object();
    for (const auto& [name, entries] : *tables) shown[name] = entries;
    return shown;
}

Result<json> Commands::capture_start(const json& args) {
    if (Status status = only_keys(args, {"file", "dev"}); !status) return Error{status.error()};
    const auto file = args.find("file");
    if (file == args.end() || !file->is_string() || file->get_ref<const std::string&>().rfind('/', 0) != 0) {
        return Error{"\"file\" is missing; allowed: an absolute path"};
    }
    PortSet ports = ~PortSet{0};
    if (args.contains("dev")) {
        const Result<IoPort*> port = port_of(args);
        if (!port) return Error{port.error()};
        ports = port_bit((*port)->id);
    }
    if (capture_) return Error{fmt::format("a capture into {} is running; allowed: one at a time", capture_file_)};
    Result<std::unique_ptr<Capture>> capture = Capture::start(file->get<std::string>());
    if (!capture) return Error{capture.error()};
    capture_ = std::move(*capture);
    capture_file_ = file->get<std::string>();
    if (!on_worker([&] { worker_.set_capture(capture_.get(), ports); })) return kStopping;
    return json{{"file", capture_file_}};
}

Result<json> Commands::capture_stop() {
    if (!capture_) return Error{"no capture is running"};
    if (!on_worker([&] { worker_.set_capture(nullptr, 0); })) return kStopping;
    const Capture& capture = *capture_;
    json result{{"file", capture_file_}, {"missed", capture.missed()}};
    capture_.reset();
    capture_file_.clear();
    return result;
}

}  // namespace vroce::sw
