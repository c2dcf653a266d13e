#include "nic/io/nic_process.hpp"

#include <fmt/core.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "common/dpdk/eal.hpp"
#include "nic/bridge/vlan_tag.hpp"
#include "nic/io/control_thread.hpp"
#include "nic/io/netlink/interface.hpp"
#include "nic/io/netlink/network_namespace.hpp"
#include "nic/io/run_directory.hpp"
#include "nic/io/worker.hpp"

namespace vroce::nic {
namespace {

/// What EAL, its heap's own needs and the devices take beside packets.
constexpr unsigned kOtherMemoryMib = 24;
/// Beside the frames, each packet has its mbuf, Packet and headroom, and a mempool header.
constexpr std::uint32_t kPacketOverheadBytes = 128 + 128 + MbufPool::kHeadroomBytes + 64;
/// What can wait at once, by a wide margin: receive ring (256), queues of uplink and interfaces, bursts, copies under
/// way and what a delaying fault holds (4,096).
constexpr unsigned kPackets = 8'192;
constexpr unsigned kPacketsMin = 2'048;
constexpr std::uint64_t kQueueLimitPackets = 1'024;

struct MemoryPlan {
    unsigned memory_mib = 0;
    unsigned packets = 0;
    std::uint32_t frame_bytes = 0;
};

Result<MemoryPlan> plan_memory(const NicOptions& options) {
    MemoryPlan plan{0, kPackets, options.mtu + kEthernetBytes + kVlanTagBytes};
    const std::uint64_t packet_bytes = plan.frame_bytes + kPacketOverheadBytes;
    if (options.memory_mib) {
        const std::uint64_t mib = *options.memory_mib > kOtherMemoryMib ? *options.memory_mib - kOtherMemoryMib : 0;
        plan.packets = static_cast<unsigned>(std::min<std::uint64_t>((mib << 20) / packet_bytes, 1u << 20));
    }
    const auto needed = [&](unsigned packets) {
        return static_cast<unsigned>((packets * packet_bytes >> 20) + 1 + kOtherMemoryMib);
    };
    if (plan.packets < kPacketsMin) {
        return Error{fmt::format("memory-mib = {}: too little for packets of {} bytes; {} or more is allowed",
                                 *options.memory_mib, plan.frame_bytes, needed(kPacketsMin))};
    }
    plan.memory_mib = options.memory_mib.value_or(needed(plan.packets));
    return plan;
}

/// EAL for the life of this object.
class Eal {
public:
    static Status start(const NicOptions& options, const MemoryPlan& plan, const std::string& directory) {
        return start_eal({.name = options.name,
                          .run_dir = directory,
                          .cpu = options.cpu ? static_cast<int>(*options.cpu) : -1,
                          .memory_mib = plan.memory_mib,
                          .no_huge = options.no_huge});
    }
    Eal() = default;
    ~Eal() { stop_eal(); }
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;
};

/// An eventfd that is closed with its owner.
class EventFd {
public:
    EventFd() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
    ~EventFd() { ::close(fd_); }
    EventFd(const EventFd&) = delete;
    EventFd& operator=(const EventFd&) = delete;
    [[nodiscard]] int get() const { return fd_; }

private:
    int fd_;
};

/// What belongs to the host's network namespace.
struct HostNetwork {
    std::vector<std::unique_ptr<TapPort>> taps;
    std::unique_ptr<AddressWatcher> watcher;
    std::unique_ptr<NeighbourResolver> resolver;
};

Status make_interfaces(const NicOptions& options, PacketPool& pool, HostNetwork& network) {
    auto kernel = NetlinkSocket::open(0);
    if (!kernel) return Error{kernel.error()};
    for (const EndpointOptions& e : options.endpoints) {
        auto tap = TapPort::open(e.interface, pool);
        if (!tap) return Error{fmt::format("[{}] {}", e.name, tap.error())};
        network.taps.push_back(std::move(*tap));
        if (Status s = set_up_interface(**kernel, {e.interface, e.mac, options.mtu, e.addresses}); !s) {
            return Error{fmt::format("[{}] {}", e.name, s.error())};
        }
    }
    auto watcher = AddressWatcher::open();
    if (!watcher) return Error{watcher.error()};
    network.watcher = std::move(*watcher);
    auto resolver = NeighbourResolver::open();
    if (!resolver) return Error{resolver.error()};
    network.resolver = std::move(*resolver);
    return Done{};
}

std::string devargs_of(const std::string& uplink) {
    constexpr std::string_view kMemif = "memif:";
    if (uplink.rfind(kMemif, 0) != 0) return uplink;
    return "net_memif0,role=client,socket=" + uplink.substr(kMemif.size());
}

std::uint64_t random_seed() {
    std::uint64_t seed = 1;
    [[maybe_unused]] const ssize_t got = ::getrandom(&seed, sizeof seed, 0);
    return seed;
}

WorkerParts worker_parts(const NicOptions& options, const MemoryPlan& plan, EthdevPort& uplink, HostNetwork& network,
                         MbufPool& pool, Engine& engine, StatusPage& status_page, Mailbox& mailbox,
                         DoorbellSet& doorbells, const EventFd& link_event) {
    WorkerParts parts{.uplink = uplink,
                      .speed_bps = options.speed_bps,
                      .queue_limit_bytes = kQueueLimitPackets * plan.frame_bytes,
                      .pfc_priorities = options.pfc_priorities,
                      .taps = network.taps,
                      .tap_names = {},
                      .endpoints = {},
                      .mtu = options.mtu,
                      .pool = pool,
                      .engine = engine,
                      .status_page = status_page,
                      .mailbox = mailbox,
                      .doorbells = doorbells,
                      .link_event_fd = link_event.get(),
                      .poll = options.busy ? PollMode::Busy : PollMode::Adaptive};
    for (const EndpointOptions& e : options.endpoints) {
        parts.tap_names.push_back(e.name);
        parts.endpoints.push_back({e.mac, e.vlan, {}});
    }
    return parts;
}

/// Everything with packets in it; EAL runs.
Status run_with_packets(const NicOptions& options, const MemoryPlan& plan, const std::string& directory) {
    auto pool = MbufPool::create(options.name, plan.packets, plan.frame_bytes);
    if (!pool) return Error{pool.error()};
    HostNetwork network;
    const auto make = [&] { return make_interfaces(options, **pool, network); };
    if (Status s = run_in_netns(options.netns, make); !s) return s;
    // Last of what can be refused: the other end of a memif does not like to see its peer go at once.
    auto uplink = EthdevPort::open(
        {.devargs = devargs_of(options.uplink), .max_frame_bytes = plan.frame_bytes, .keep_device = true}, **pool);
    if (!uplink) return Error{fmt::format("uplink = {}: {}", options.uplink, uplink.error())};

    auto status_page = StatusPage::create(1);
    if (!status_page) return Error{status_page.error()};
    Engine engine({.seed = random_seed()}, **pool);
    Mailbox mailbox;
    DoorbellSet doorbells;
    const UniqueFd own_doorbell = doorbells.add();
    const EventFd link_event;
    Worker worker(
        worker_parts(options, plan, **uplink, network, **pool, engine, **status_page, mailbox, doorbells, link_event));
    ControlThread control({.options = options,
                           .directory = directory,
                           .worker = worker,
                           .mailbox = mailbox,
                           .uplink = **uplink,
                           .engine = engine,
                           .status_page = **status_page,
                           .pool = **pool,
                           .watcher = *network.watcher,
                           .resolver = *network.resolver,
                           .doorbells = doorbells,
                           .doorbell_fd = own_doorbell.get(),
                           .link_event_fd = link_event.get()});
    control.start();
    worker.run();
    mailbox.stop();
    return control.join();
}

/// An application's context takes some descriptors, and there may be many.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Status run_nic(const NicOptions& options) {
    block_signals();
    raise_descriptor_limit();
    const Result<MemoryPlan> plan = plan_memory(options);
    if (!plan) return Error{plan.error()};
    if (Status s = run_in_netns(options.netns, [] { return Status(Done{}); }); !s) return s;
    const Result<RunDirectory> directory = RunDirectory::take(options.run_dir, options.name);
    if (!directory) return Error{directory.error()};
    if (Status s = Eal::start(options, *plan, directory->path()); !s) return s;
    const Eal eal;
    return run_with_packets(options, *plan, directory->path());
}

}  // namespace vroce::nic
