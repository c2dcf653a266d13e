#include "nic/io/control_thread.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/dpdk/telemetry.hpp"

namespace vroce::nic {
namespace {

/// What has no descriptor of its own to wake us: a doorbell that looks for its server, addresses being resolved.
constexpr std::chrono::milliseconds kTick{100};
/// Nobody's: a locally administered OUI.
constexpr std::uint32_t kVendorId = 0x76526F;
constexpr std::uint32_t kVendorPartId = 1;

sigset_t end_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
    return set;
}

/// The worker may be pinned; this thread, which it started, must not sit on its core.
void allow_all_processors() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
    ::sched_setaffinity(0, sizeof all, &all);
}

}  // namespace

void block_signals() {
    const sigset_t set = end_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

ControlThread::ControlThread(const ControlParts& parts)
    : parts_(parts),
      interfaces_(parts.options.endpoints.size()),
      commands_(parts.options, endpoints_, parts.worker, parts.mailbox, parts.pool) {
    const sigset_t set = end_signals();
    signal_fd_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

ControlThread::~ControlThread() {
    ::close(signal_fd_);
}

void ControlThread::start() {
    thread_ = std::thread([this] { run(); });
}

Status ControlThread::join() {
    thread_.join();
    return result_;
}

void ControlThread::run() {
    ::pthread_setname_np(::pthread_self(), "vroce-control");
    allow_all_processors();
    result_ = set_up();
    if (result_) loop();
    tear_down();
    parts_.mailbox.call([this] { parts_.worker.stop(); });
}

Status ControlThread::set_up() {
    for (std::size_t i = 0; i < parts_.options.endpoints.size(); ++i) {
        if (Status s = create_endpoint(i); !s) return s;
    }
    refresh_addresses();
    watch_descriptors();
    if (Status s = add_telemetry_commands(); !s) return s;
    return listen();
}

Status ControlThread::create_endpoint(std::size_t index) {
    auto endpoint = Endpoint::create(endpoint_config(index), services());
    if (!endpoint) return Error{endpoint.error()};
    endpoints_.push_back(std::move(*endpoint));
    Endpoint& created = *endpoints_.back();
    parts_.mailbox.call([&] { parts_.worker.add_device(created.device()); });
    static_cast<void>(reactor_.add(created.fd(), EPOLLIN, [&created](std::uint32_t) { created.serve(); }));
    parts_.watcher.watch(parts_.options.endpoints[index].interface, index);
    return Done{};
}

EndpointConfig ControlThread::endpoint_config(std::size_t index) const {
    const EndpointOptions& e = parts_.options.endpoints[index];
    return {.name = e.name,
            .directory = parts_.directory + "/" + e.name,
            .device = e.device,
            .number = static_cast<std::uint32_t>(index),
            .interface = e.interface,
            .mac = e.mac,
            .vlan = e.vlan,
            .vendor_id = e.vendor_id.value_or(kVendorId),
            .vendor_part_id = e.vendor_part_id.value_or(kVendorPartId),
            .speed_bps = parts_.options.speed_bps,
            .mtu = parts_.options.mtu};
}

NicServices ControlThread::services() {
    return {.engine = parts_.engine,
            .status_page = parts_.status_page,
            .local_addresses = local_addresses_,
            .resolver = parts_.resolver,
            .doorbell_fd = parts_.doorbell_fd,
            .worker = Worker::kIndex,
            .run_on_worker = [this](const std::function<void()>& f) { parts_.mailbox.call(f); },
            .now = [this] { return now(); },
            .log = [this](const std::string& line) { fmt::print(stderr, "{}: {}\n", parts_.options.name, line); },
            .counters = {},
            .doorbells = &parts_.doorbells};
}

/// The socket appears last: whoever sees it finds everything else ready.
Status ControlThread::listen() {
    auto server = ControlServer::listen(parts_.directory + "/control.sock");
    if (!server) return Error{server.error()};
    server_ = std::move(*server);
    commands_.register_at(*server_);
    static_cast<void>(reactor_.add(server_->fd(), EPOLLIN, [this](std::uint32_t) { server_->serve(); }));
    fmt::print(stderr, "{}: ready\n", parts_.options.name);
    return Done{};
}

Status ControlThread::add_telemetry_commands() {
    const auto add = [this](const char* path, const char* help, Result<nlohmann::json> (Commands::*function)()) {
        return add_telemetry(path, help, [this, requests = requests_, function]() -> nlohmann::json {
            Result<nlohmann::json> answer = Error{"the NIC is stopping"};
            requests->call([&] { answer = (commands_.*function)(); });
            return answer ? *answer : nlohmann::json{{"error", answer.error()}};
        });
    };
    for (const Status& s : {add("/vroce/status", "Name, ports, links. No parameters.", &Commands::status),
                            add("/vroce/counters", "All counters of the NIC. No parameters.", &Commands::counters),
                            add("/vroce/endpoints", "What applications can open. No parameters.", &Commands::endpoints),
                            add("/vroce/qp", "Queue pairs. No parameters.", &Commands::qps),
                            add("/vroce/mr", "Memory regions. No parameters.", &Commands::mrs)}) {
        if (!s) return s;
    }
    return Done{};
}

void ControlThread::watch_descriptors() {
    const auto watch = [this](int fd, auto function) {
        static_cast<void>(reactor_.add(fd, EPOLLIN, [function](std::uint32_t) { function(); }));
    };
    watch(signal_fd_, [this] { take_signal(); });
    watch(parts_.link_event_fd, [this] { take_link_change(); });
    watch(parts_.watcher.fd(), [this] { refresh_addresses(); });
    watch(parts_.resolver.fd(), [this] { parts_.resolver.serve(now()); });
    watch(requests_->fd(), [this] { requests_->drain(); });
    if (Doorbell* doorbell = parts_.uplink.doorbell(); doorbell != nullptr) {
        watch(doorbell->fd(), [doorbell] { doorbell->serve(); });
    }
}

void ControlThread::loop() {
    take_link_change();
    while (running_) {
        tick();
        pollfd ready{reactor_.fd(), POLLIN, 0};
        if (::poll(&ready, 1, -1) < 0 && errno != EINTR) break;
        parts_.resolver.set_now(now());
        reactor_.serve();
    }
}

/// Arms the timer while somebody needs it, so that an idle process has none.
void ControlThread::tick() {
    Doorbell* doorbell = parts_.uplink.doorbell();
    const bool needed = (doorbell != nullptr && !doorbell->connected()) || parts_.resolver.next_deadline() != kNever;
    if (!needed || tick_timer_ != 0) return;
    tick_timer_ = reactor_.after(kTick, [this, doorbell] {
        tick_timer_ = 0;
        if (doorbell != nullptr) doorbell->serve();
        parts_.resolver.serve(now());
    });
}

void ControlThread::take_signal() {
    signalfd_siginfo info{};
    if (::read(signal_fd_, &info, sizeof info) == sizeof info) running_ = false;
}

void ControlThread::take_link_change() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(parts_.link_event_fd, &count, sizeof count);
    parts_.mailbox.call([this] { link_up_ = parts_.uplink.link_up(); });
    for (std::size_t i = 0; i < endpoints_.size(); ++i) tell_link(i);
}

void ControlThread::refresh_addresses() {
    parts_.watcher.serve([this](std::size_t i, const InterfaceState& state) { take_interface_state(i, state); });
}

void ControlThread::take_interface_state(std::size_t endpoint, const InterfaceState& state) {
    interfaces_[endpoint] = state;
    endpoints_[endpoint]->set_addresses(state.addresses);
    tell_link(endpoint);
    std::vector<Gid> own = endpoints_[endpoint]->addresses();
    parts_.mailbox.call([&] { parts_.worker.set_addresses(endpoint, std::move(own)); });
}

/// RDMA is possible while both the line and the interface are up.
void ControlThread::tell_link(std::size_t endpoint) {
    const InterfaceState& interface = interfaces_[endpoint];
    const std::uint32_t mtu = interface.mtu != 0 ? std::min(interface.mtu, parts_.options.mtu) : parts_.options.mtu;
    endpoints_[endpoint]->set_link(link_up_ && interface.up, mtu);
}

/// While the worker still runs: sessions give back what it holds for them.
void ControlThread::tear_down() {
    server_.reset();
    requests_->stop();
    parts_.mailbox.call([this] {
        for (const auto& endpoint : endpoints_) parts_.worker.remove_device(endpoint->device());
    });
    endpoints_.clear();
}

}  // namespace vroce::nic
