#include "switch/io/buffer_plan.hpp"

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

Result<std::vector<std::string>> plan_port_buffers(SwitchConfig& config) {
    std::vector<std::uint64_t> needed;
    for (std::size_t port = 0; port < config.ports.size(); ++port) {
        const bool told = port < config.buffers.ports.size();
        const std::uint32_t cable_m = told ? config.buffers.ports[port].cable_m : 0;
        needed.push_back(headroom_of(config.ports[port], cable_m).total_bytes());
    }
    Result<BufferPlan> plan = plan_buffers(config, needed);
    if (!plan) return Error{plan.error()};
    config.buffer_limits = std::move(plan->limits);
    return std::move(plan->raised);
}

}  // namespace vroce::sw
