// From the configuration's profiles to the numbers that the buffer manager enforces, or the reason why they do not fit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "switch/core/switch_config.hpp"
#include "switch/mmu/limits.hpp"

namespace vroce::sw {

struct BufferPlan {
    BufferLimits limits;
    std::vector<std::string> raised;  ///< a line for each headroom that had to be larger than configured (design D11d)
};

/// `headroom_bytes[p]`: what a lossless priority group of port p needs at least after it has asked for pause (speed,
/// cable, MTU and the ring; see pfc/headroom.hpp). A priority with flow control is lossless, with the profile that its
/// group has or, without a lossless one, with a default out of the first ingress pool, or out of a pool of its own
/// where the file has none; a profile for lossless groups whose priority has no flow control makes a lossy one. Queues
/// of lossless priorities are not held to a dynamic threshold. Refuses a pool that
/// promises more than it has.
[[nodiscard]] Result<BufferPlan> plan_buffers(const SwitchConfig& config,
                                              std::span<const std::uint64_t> headroom_bytes);

}  // namespace vroce::sw
