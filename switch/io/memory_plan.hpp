// How many packets the process needs so that its pool never empties, and how much memory that is.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/result.hpp"
#include "switch/core/switch_config.hpp"

namespace vroce::sw {

inline constexpr std::uint16_t kDescriptors = 256;

struct MemoryPlan {
    unsigned packets = 0;
    std::uint32_t frame_bytes = 0;    ///< largest frame that a packet holds
    std::uint32_t queue_packets = 0;  ///< most packets that wait for one port
    /// Most packets that the buffer limits let wait in all; with fewer than these small frames could empty the pool
    /// first, and ports would not be read for a while.
    std::uint64_t buffered_packets = 0;
    unsigned memory_mib = 0;  ///< for DPDK
};

/// `ports` have a device; `limit_mib` is the user's, none: what the ports want, up to 512 MiB.
Result<MemoryPlan> plan_memory(const SwitchConfig& config, std::size_t ports, std::optional<unsigned> limit_mib);

}  // namespace vroce::sw
