#include "nic/host/endpoint.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "nic/device/device.hpp"
#include "nic/host/session.hpp"
#include "nic/host/session_server.hpp"
#include "nic/host/sysfs_tree.hpp"
#include "nic/host/text_file.hpp"
#include "nic/transport/engine_counters.hpp"

namespace vroce::nic {
namespace {

constexpr std::chrono::seconds kCounterInterval{1};
constexpr std::uint64_t kPortNumber = 1;

/// Memory keys: from the kernel, a page of them at a time.
class KernelRandom {
public:
    std::uint32_t operator()() {
        if (next_ == words_.size()) refill();
        return words_[next_++];
    }

private:
    void refill() {
        auto* bytes = reinterpret_cast<std::uint8_t*>(words_.data());
        for (std::size_t have = 0; have < sizeof words_;) {
            const ssize_t got = getrandom(bytes + have, sizeof words_ - have, 0);
            if (got > 0) have += static_cast<std::size_t>(got);
        }
        next_ = 0;
    }
    std::array<std::uint32_t, 64> words_{};
    std::size_t next_ = words_.size();
};

/// Each session costs descriptors, and an application may close a pipe's end at any time.
void prepare_process() {
    std::signal(SIGPIPE, SIG_IGN);
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

std::string format_mac(const MacAddress& mac) {
    const auto& b = mac.bytes;
    return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", b[0], b[1], b[2], b[3], b[4], b[5]);
}

const char* state_name(QpState state) {
    constexpr std::array kNames{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return kNames[static_cast<std::size_t>(state)];
}

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::create(const EndpointConfig& config, const NicServices& services) {
    prepare_process();
    std::unique_ptr<Endpoint> endpoint(new Endpoint(config, services));
    if (const Status status = endpoint->publish(); !status) return Error{status.error()};
    return endpoint;
}

Endpoint::Endpoint(const EndpointConfig& config, const NicServices& services)
    : config_(config),
      services_(services),
      device_(std::make_unique<Device>(services.engine, KernelRandom())),
      held_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    config_.directory = std::filesystem::absolute(config.directory).lexically_normal().string();
    const PortState port{.link_up = false, .mtu_bytes = config.mtu, .speed_bps = config.speed_bps};
    host_.reset(new SessionHost{config_,
                                services_,
                                *device_,
                                GidTable(config.mac),
                                port,
                                {},
                                {},
                                [fd = held_fd_.get()] {
                                    const std::uint64_t one = 1;
                                    [[maybe_unused]] const auto written = write(fd, &one, sizeof one);
                                },
                                [this] { keep_counters_fresh(); }});
}

Endpoint::~Endpoint() {
    // The tree first: nobody begins what is ending.
    tree_.reset();
    server_.reset();
    services_.local_addresses.remove(config_.name);
    services_.run_on_worker([this] { device_.reset(); });
    std::error_code not_empty;  // then it is somebody else's
    std::filesystem::remove(config_.directory, not_empty);
}

// The socket before the tree: who finds the device finds somebody to talk to.
Status Endpoint::publish() {
    if (const Status status = make_directories(config_.directory); !status) return status;
    const std::string socket = config_.directory + "/session.sock";
    auto server = SessionServer::listen(socket, *host_);
    if (!server) return Error{server.error()};
    server_ = std::move(*server);
    static_cast<void>(host_->reactor.add(held_fd_.get(), EPOLLIN, [this](std::uint32_t) { watch_held_events(); }));
    services_.local_addresses.set(config_.name, config_.mac, config_.vlan, host_->gids.in_use());
    const SysfsDevice device{.directory = config_.directory,
                             .device = config_.device,
                             .number = config_.number,
                             .interface = config_.interface,
                             .session_path = socket,
                             .description = config_.device + " of " + config_.name,
                             .mac = config_.mac,
                             .vendor_id = config_.vendor_id,
                             .vendor_part_id = config_.vendor_part_id};
    auto tree = SysfsTree::publish(device, host_->gids, host_->port);
    if (!tree) return Error{tree.error()};
    tree_ = std::move(*tree);
    services_.run_on_worker([this] { device_->set_path_mtu_max(128u << active_mtu(config_.mtu)); });
    return Done{};
}

int Endpoint::fd() const {
    return host_->reactor.fd();
}

void Endpoint::serve() {
    host_->reactor.serve();
}

// ---- what happens to the port --------------------------------------------------------------------------------------

void Endpoint::set_addresses(const std::vector<Gid>& addresses) {
    const std::vector<std::size_t> changed = host_->gids.set(addresses);
    if (changed.empty()) return;
    for (const std::size_t index : changed) {
        if (const Status status = tree_->set_gid(index, host_->gids.at(index)); !status) services_.log(status.error());
    }
    services_.local_addresses.set(config_.name, config_.mac, config_.vlan, host_->gids.in_use());
    broadcast(AsyncEventType::GidChange);
}

void Endpoint::set_link(bool up, std::uint32_t mtu) {
    PortState& port = host_->port;
    const bool turned = port.link_up != up;
    if (!turned && port.mtu_bytes == mtu) return;
    port.link_up = up;
    port.mtu_bytes = mtu;
    services_.run_on_worker([&] { device_->set_path_mtu_max(128u << active_mtu(mtu)); });
    if (const Status status = tree_->set_port(port); !status) services_.log(status.error());
    if (turned) broadcast(up ? AsyncEventType::PortActive : AsyncEventType::PortErr);
}

void Endpoint::broadcast(AsyncEventType type) {
    const vroce_async_event event{kPortNumber, static_cast<std::uint32_t>(type), 0};
    services_.run_on_worker([&] {
        for (const auto& [id, session] : server_->sessions())
            if (session->events() != nullptr) session->events()->async_event(event);
    });
}

void Endpoint::watch_held_events() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(held_fd_.get(), &count, sizeof count);
    for (const auto& [id, session] : server_->sessions()) session->watch_held_events();
}

std::vector<Gid> Endpoint::addresses() const {
    return host_->gids.in_use();
}

// ---- counters ------------------------------------------------------------------------------------------------------

// Only while somebody has the device open, and once after that.
void Endpoint::keep_counters_fresh() {
    if (counter_timer_ != 0) return;
    counter_timer_ = host_->reactor.after(kCounterInterval, [this] {
        counter_timer_ = 0;
        write_counters();
        if (!server_->sessions().empty()) keep_counters_fresh();
    });
}

void Endpoint::write_counters() {
    tree_->set_counters(services_.counters ? services_.counters() : counter_values());
}

std::vector<std::pair<std::string, std::uint64_t>> Endpoint::counter_values() const {
    EngineCounters now;
    services_.run_on_worker([&] { now = services_.engine.counters(); });
    std::vector<std::pair<std::string, std::uint64_t>> values;
    for (std::size_t i = 0; i < kEngineCounterCount; ++i) values.emplace_back(kEngineCounterLabels[i], now.values[i]);
    // IBTA counts data in words of four bytes.
    values.emplace_back("port_xmit_data", now[EngineCounter::TxBytes] / 4);
    values.emplace_back("port_rcv_data", now[EngineCounter::RxBytes] / 4);
    for (const char* name : {"port_xmit_packets", "unicast_xmit_packets"})
        values.emplace_back(name, now[EngineCounter::TxPackets]);
    for (const char* name : {"port_rcv_packets", "unicast_rcv_packets"})
        values.emplace_back(name, now[EngineCounter::RxPackets]);
    return values;
}

// ---- views ---------------------------------------------------------------------------------------------------------

nlohmann::json Endpoint::show() const {
    nlohmann::json gids = nlohmann::json::array();
    for (std::size_t i = 0; i < GidTable::kEntries; ++i)
        if (!is_zero(host_->gids.at(i))) gids.push_back({{"index", i}, {"gid", format_gid(host_->gids.at(i))}});
    nlohmann::json sessions = nlohmann::json::array();
    for (const auto& [id, s] : server_->sessions())
        sessions.push_back({{"id", id},
                            {"pid", s->peer().pid},
                            {"uid", s->peer().uid},
                            {"open", s->open()},
                            {"memory", s->memory_name()},
                            {"qps", s->qp_count()},
                            {"cqs", s->cq_count()}});
    nlohmann::json counters = nlohmann::json::object();
    host_->counters.for_each([&](std::string_view name, std::uint64_t value) { counters[std::string(name)] = value; });
    return {{"name", config_.name},
            {"device", config_.device},
            {"interface", config_.interface},
            {"directory", config_.directory},
            {"mac", format_mac(config_.mac)},
            {"vlan", config_.vlan},
            {"link_up", host_->port.link_up},
            {"mtu", host_->port.mtu_bytes},
            {"active_mtu", 128u << active_mtu(host_->port.mtu_bytes)},
            {"gids", std::move(gids)},
            {"sessions", std::move(sessions)},
            {"counters", std::move(counters)}};
}

nlohmann::json Endpoint::show_qps() const {
    struct Row {
        std::uint32_t qpn;
        QpStatus status;
        vroce_qp_attr attr;
    };
    std::vector<Row> rows;  // the worker only copies
    services_.run_on_worker([&] {
        rows.reserve(device_->qp_count());
        device_->for_each_qp([&](const QpView& qp) { rows.push_back({qp.qpn, qp.status, qp.attr}); });
    });
    nlohmann::json out = nlohmann::json::array();
    for (const Row& row : rows) {
        Gid destination;
        std::copy(std::begin(row.attr.grh_dgid), std::end(row.attr.grh_dgid), destination.bytes.begin());
        out.push_back({{"endpoint", config_.name},
                       {"qpn", row.qpn},
                       {"type", "RC"},
                       {"state", state_name(row.status.state)},
                       {"destination_qpn", row.attr.dest_qp_num},
                       {"destination_gid", format_gid(destination)},
                       {"sgid_index", row.attr.grh_sgid_index},
                       {"path_mtu", row.attr.path_mtu == 0 ? 0 : 128u << row.attr.path_mtu},
                       {"sq_psn", row.status.sq_psn},
                       {"rq_psn", row.status.rq_psn}});
    }
    return out;
}

nlohmann::json Endpoint::show_mrs() const {
    struct Row {
        std::uint64_t length;
        std::uint32_t pd;
        std::uint32_t access;
        bool mapped;
    };
    std::vector<Row> rows;
    services_.run_on_worker([&] {
        rows.reserve(device_->mr_count());
        device_->for_each_mr([&](const MemoryRegion& mr) {
            rows.push_back({mr.length, mr.pd, mr.access, mr.mapping != nullptr});
        });
    });
    nlohmann::json out = nlohmann::json::array();  // no keys: who may read this may not write there
    for (const Row& row : rows)
        out.push_back({{"endpoint", config_.name},
                       {"length", row.length},
                       {"pd", row.pd},
                       {"access", row.access},
                       {"mapped", row.mapped}});
    return out;
}

}  // namespace vroce::nic
