// packets = queues + rings + bursts + held by faults + caches, and 5 % that the reader keeps (design D2).
#include "switch/io/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "switch/core/ethernet.hpp"

namespace vroce::sw {
namespace {

constexpr std::uint32_t kSmallestBuffer = 9'216;  // a peer may send jumbo frames whatever our MTU: dropped by name then
constexpr std::uint32_t kPacketOverhead = 512;    // mbuf, Packet, headroom, the pool's own header, alignment
constexpr std::uint32_t kPortPackets = 2 * kDescriptors + 4 * kBurst;
constexpr std::uint32_t kSharedPackets = 2'048 + 512;  // held by faults; caches
constexpr std::uint32_t kSmallestFrame = 64;
constexpr std::uint32_t kFewestQueuePackets = 256;
constexpr unsigned kDefaultLimitMib = 512;
constexpr unsigned kOtherMib = 16;  // devices, rings, DPDK itself

/// Most packets that the buffer manager lets wait: as many as cells in the ingress pools, and what a ring can bring
/// into each group's headroom.
std::uint64_t buffered_packets(const SwitchConfig& config) {
    const BufferLimits& limits = config.buffer_limits;
    const std::uint64_t smallest = std::max<std::uint64_t>(limits.cell_bytes, kSmallestFrame);
    std::uint64_t shared = 0;
    std::uint64_t headroom = 0;
    std::vector<bool> counted(limits.pools.size());
    for (const PortBufferLimits& port : limits.ports) {
        for (const auto& group : port.groups) {
            if (!group) continue;
            shared += group->reserved_bytes;
            if (!counted[group->pool]) shared += limits.pools[group->pool].shared_bytes;
            counted[group->pool] = true;
            if (group->lossless()) headroom += kDescriptors + kBurst;
        }
    }
    return shared / smallest + headroom;
}

std::uint64_t packets_for(std::size_t ports, std::uint64_t queue_packets) {
    return (ports * (queue_packets + kPortPackets) + kSharedPackets) * 100 / 95 + 1;
}

}  // namespace

Result<MemoryPlan> plan_memory(const SwitchConfig& config, std::size_t ports, std::optional<unsigned> limit_mib) {
    MemoryPlan plan;
    plan.frame_bytes = kSmallestBuffer;
    std::uint32_t wanted = kFewestQueuePackets;
    for (const PortConfig& port : config.ports) {
        plan.frame_bytes = std::max(plan.frame_bytes, port.mtu_bytes + kHeaderBytes + kMaxTags * kTagBytes);
        wanted = std::max(wanted, port.egress_limit_packets);
    }
    const std::uint64_t buffered = buffered_packets(config);
    if (ports != 0) wanted = std::max<std::uint32_t>(wanted, static_cast<std::uint32_t>(buffered / ports));
    const std::uint64_t packet_bytes = plan.frame_bytes + kPacketOverhead;
    const std::uint64_t limit = limit_mib.value_or(kDefaultLimitMib);
    const auto mib_for = [&](std::uint64_t queue_packets) {
        return (packets_for(ports, queue_packets) * packet_bytes >> 20) + kOtherMib;
    };
    plan.queue_packets = wanted;
    while (plan.queue_packets > kFewestQueuePackets && mib_for(plan.queue_packets) > limit) plan.queue_packets /= 2;
    const std::uint64_t needed = mib_for(plan.queue_packets);
    if (limit_mib && needed > limit) {
        return Error{
            fmt::format("--memory-mib \"{}\" is too small for {} ports; allowed: {} or more", limit, ports, needed)};
    }
    plan.buffered_packets = buffered;
    plan.packets = static_cast<unsigned>(packets_for(ports, plan.queue_packets));
    plan.memory_mib = static_cast<unsigned>(needed);
    return plan;
}

}  // namespace vroce::sw
