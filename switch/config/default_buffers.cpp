// Lossy traffic has pools of its own, so that no amount of it takes room from the lossless one.
#include "switch/config/default_buffers.hpp"

#include <algorithm>
#include <string>

#include "pfc/headroom.hpp"
#include "switch/config/devargs.hpp"

namespace vroce::sw {
namespace {

constexpr std::uint32_t kPeerBurst = 32;
constexpr std::uint32_t kCableDefault_m = 40;
/// Of the lossless pool; a lossy one has half. At least so much that queues reach the preset's ECN thresholds before
/// their senders are paused; not more than needed, since every cell may be a packet that has to be there.
constexpr std::uint64_t kSharedPerPort = std::uint64_t{512} << 10;
constexpr std::uint64_t kSharedLeast = std::uint64_t{4} << 20;
/// Two of the largest frames below the limit a paused peer may go on, so that one frame does not pause it again.
constexpr std::uint64_t kXonOffset = 18'432;

enum Pool : std::uint16_t { kIngressLossless, kIngressLossy, kEgressLossless, kEgressLossy };

std::uint64_t headroom_estimate(const PortConfig& port, std::uint32_t cable_m, const PortDevice& device) {
    HeadroomLink link;
    link.speed_bps = port.speed_bps;
    link.mtu_bytes = port.mtu_bytes;
    link.cable_meters = cable_m == 0 ? kCableDefault_m : cable_m;
    link.ring_slots = ring_slots(device.devargs);
    link.peer_burst_frames = kPeerBurst;
    return headroom(link).total_bytes();
}

std::uint64_t all_headroom(const SwitchConfig& core, std::span<const PortDevice> devices) {
    std::uint64_t sum = 0;
    for (std::size_t p = 0; p < core.ports.size(); ++p) {
        const auto groups = static_cast<unsigned>(__builtin_popcount(pausing_groups(core.ports[p].qos)));
        sum += groups * headroom_estimate(core.ports[p], core.buffers.ports[p].cable_m, devices[p]);
    }
    return sum;
}

/// Bit q: frames of a pausing group of some port leave by queue q, which must not drop them on any port.
std::uint8_t pausing_queues(const SwitchConfig& core) {
    unsigned mask = 0;
    for (const PortConfig& port : core.ports) {
        const ClassMaps& maps = port.qos.ingress;
        const std::uint8_t groups = pausing_groups(port.qos);
        for (unsigned tc = 0; tc < kTrafficClasses; ++tc)
            if ((groups >> maps.tc_to_priority[tc] & 1) != 0) mask |= 1U << maps.tc_to_queue[tc];
    }
    return static_cast<std::uint8_t>(mask);
}

BufferProfileConfig profile_in(const char* name, Pool pool) {
    BufferProfileConfig profile;
    profile.name = name;
    profile.pool = pool;
    return profile;
}

std::uint16_t add_profile(BufferConfig& buffers, const BufferProfileConfig& profile) {
    buffers.profiles.push_back(profile);
    return static_cast<std::uint16_t>(buffers.profiles.size() - 1);
}

std::uint64_t shared_bytes(const SwitchConfig& core) {
    return std::max(core.ports.size() * kSharedPerPort, kSharedLeast);
}

void add_pools(SwitchConfig& core, std::span<const PortDevice> devices) {
    const std::uint64_t lossy = shared_bytes(core) / 2;
    const std::uint64_t lossless = default_pool_bytes(core, devices);
    const auto add = [&core](const char* name, std::uint64_t size, BufferPoolType type, BufferPoolMode mode) {
        core.buffers.pools.push_back({name, size, type, mode, 0});
    };
    add("ingress_lossless_pool", lossless, BufferPoolType::kIngress, BufferPoolMode::kDynamic);
    add("ingress_lossy_pool", lossy, BufferPoolType::kIngress, BufferPoolMode::kStatic);
    add("egress_lossless_pool", lossless, BufferPoolType::kEgress, BufferPoolMode::kStatic);
    add("egress_lossy_pool", lossy, BufferPoolType::kEgress, BufferPoolMode::kDynamic);
}

}  // namespace

std::uint8_t pausing_groups(const PortQosConfig& qos) {
    if (!qos.flow_control.link_pause) return qos.flow_control.pfc_enable;
    const ClassMaps& maps = qos.ingress;
    unsigned mask = 1U << maps.tc_to_priority[maps.default_tc];
    if (maps.trust != Trust::kPort)
        for (const std::uint8_t priority : maps.tc_to_priority) mask |= 1U << priority;
    return static_cast<std::uint8_t>(mask);
}

std::uint64_t default_pool_bytes(const SwitchConfig& core, std::span<const PortDevice> devices) {
    return shared_bytes(core) + all_headroom(core, devices);
}

BufferProfileConfig lossless_profile(const BufferConfig& buffers, std::uint16_t pool) {
    BufferProfileConfig profile;
    profile.name = "pg_lossless_profile";
    profile.pool = pool;
    if (buffers.pools[pool].mode == BufferPoolMode::kDynamic) {
        profile.dynamic_alpha = std::int8_t{0};
    } else {
        profile.static_bytes = buffers.pools[pool].size_bytes;
    }
    profile.lossless = true;
    profile.xon_offset_bytes = kXonOffset;
    return profile;
}

void add_default_buffers(SwitchConfig& core, std::span<const PortDevice> devices) {
    BufferConfig& buffers = core.buffers;
    add_pools(core, devices);
    const std::uint16_t lossless_group = add_profile(buffers, lossless_profile(buffers, kIngressLossless));
    // Lossless frames are held at ingress, lossy ones drop at egress: the other side's limit is the whole pool.
    BufferProfileConfig profile = profile_in("ingress_lossy_profile", kIngressLossy);
    profile.static_bytes = buffers.pools[kIngressLossy].size_bytes;
    const std::uint16_t lossy_group = add_profile(buffers, profile);
    profile = profile_in("egress_lossless_profile", kEgressLossless);
    profile.static_bytes = buffers.pools[kEgressLossless].size_bytes;
    const std::uint16_t lossless_queue = add_profile(buffers, profile);
    profile = profile_in("egress_lossy_profile", kEgressLossy);
    profile.dynamic_alpha = std::int8_t{0};
    const std::uint16_t lossy_queue = add_profile(buffers, profile);

    const std::uint8_t lossless_queues = pausing_queues(core);
    for (std::size_t p = 0; p < core.ports.size(); ++p) {
        const std::uint8_t groups = pausing_groups(core.ports[p].qos);
        for (unsigned g = 0; g < kPriorityGroups; ++g)
            buffers.ports[p].pg[g] = (groups >> g & 1) != 0 ? lossless_group : lossy_group;
        for (unsigned q = 0; q < kQueues; ++q)
            buffers.ports[p].queue[q] = (lossless_queues >> q & 1) != 0 ? lossless_queue : lossy_queue;
    }
}

}  // namespace vroce::sw
