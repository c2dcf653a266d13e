#include "switch/io/buffer_plan.hpp"

#include <fmt/format.h>

#include <utility>

#include "switch/io/memory_plan.hpp"
#include "switch/mmu/plan.hpp"

namespace vroce::sw {

Headroom headroom_of(const PortConfig& port, std::uint32_t cable_m, Duration extra_delay) {
    HeadroomLink link;
    link.speed_bps = port.speed_bps;
    link.mtu_bytes = port.mtu_bytes;
    link.cable_meters = cable_m;
    link.extra_delay = extra_delay;
    link.ring_slots = kDescriptors;
    link.peer_burst_frames = kBurst;
    return headroom(link);
}

namespace {

std::uint32_t cable_of(const SwitchConfig& config, std::size_t port) {
    return port < config.buffers.ports.size() ? config.buffers.ports[port].cable_m : 0;
}

}  // namespace

Result<std::vector<std::string>> plan_port_buffers(SwitchConfig& config) {
    std::vector<std::uint64_t> needed;
    for (std::size_t port = 0; port < config.ports.size(); ++port) {
        needed.push_back(headroom_of(config.ports[port], cable_of(config, port)).total_bytes());
    }
    Result<BufferPlan> plan = plan_buffers(config, needed);
    if (!plan) return Error{plan.error()};
    config.buffer_limits = std::move(plan->limits);
    return std::move(plan->raised);
}

std::vector<std::string> delay_notes(const SwitchConfig& config, PortId id, const FaultRequest& request) {
    if (request.settings.delay.ps == 0 || id >= config.buffer_limits.ports.size()) return {};
    // There and back: a pause goes one way, what must fit into the headroom comes the other.
    const Duration delay = request.settings.delay;
    const Duration one_way = request.direction == FaultDirection::Both ? delay : delay / 2;
    const PortConfig& port = config.ports[id];
    const std::uint64_t needed = headroom_of(port, cable_of(config, id), one_way).total_bytes();
    const auto& groups = config.buffer_limits.ports[id].groups;
    std::vector<std::string> notes;
    for (unsigned g = 0; g < groups.size(); ++g) {
        if (!groups[g] || !groups[g]->lossless()) continue;
        const std::uint64_t has = groups[g]->headroom_bytes;
        notes.push_back(fmt::format(
            "{}: the delay is as that of {} m of cable: priority group {} needs {} bytes of headroom "
            "and has {}{}",
            port.name, one_way.ps / kCablePsPerMeter, g, needed, has, has < needed ? ", so it may lose frames" : ""));
    }
    return notes;
}

}  // namespace vroce::sw
