// What the buffer manager enforces, in plain numbers: pools, priority groups, queues. Profiles and their names are the
// configuration's business (mmu/plan.hpp makes these out of it).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "switch/core/buffer_config.hpp"

namespace vroce::sw {

/// How much of a pool's shared room somebody may use.
struct Threshold {
    /// n of SAI's dynamic threshold: 2^n times what the pool has left (-8..7). None: `static_bytes` it is.
    std::optional<int> alpha_exponent;
    std::uint64_t static_bytes = 0;

    [[nodiscard]] std::uint64_t limit_bytes(std::uint64_t pool_free_bytes) const;
};

struct PoolLimits {
    std::uint64_t shared_bytes = 0;    ///< the pool without what is reserved and without headroom of single groups
    std::uint64_t headroom_bytes = 0;  ///< shared headroom pool; 0: each group has its own
    std::string name{};                ///< for people
};

struct PriorityGroupLimits {
    std::uint8_t pool = 0;
    std::uint64_t reserved_bytes = 0;
    Threshold shared;
    std::uint64_t headroom_bytes = 0;  ///< 0: a lossy group, which drops where a lossless one pauses
    /// XON when the shared use is at most max(xon_bytes, limit - xon_offset_bytes) (SAI_BUFFER_PROFILE_ATTR_XON_TH).
    std::uint64_t xon_bytes = 0;
    std::uint64_t xon_offset_bytes = 0;

    [[nodiscard]] bool lossless() const { return headroom_bytes != 0; }
};

struct QueueLimits {
    std::uint8_t pool = 0;
    std::uint64_t reserved_bytes = 0;
    Threshold shared;
};

struct PortBufferLimits {
    std::array<std::optional<PriorityGroupLimits>, kPriorityGroups> groups;  ///< none: not accounted at ingress
    std::array<std::optional<QueueLimits>, kQueues> queues;                  ///< none: not accounted at egress
};

struct BufferLimits {
    std::uint32_t cell_bytes = 256;  ///< a frame takes whole cells; a power of two
    std::vector<PoolLimits> pools;   ///< ingress and egress pools alike
    std::vector<PortBufferLimits> ports;
};

}  // namespace vroce::sw
