// What the configuration says about buffers: pools, profiles, and which profile each port's priority groups and queues
// have. Plain data in the terms of SONiC's BUFFER_… tables and SAI's buffer profiles; the buffer manager gives it
// meaning.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vroce::sw {

inline constexpr std::size_t kPriorityGroups = 8;
inline constexpr std::size_t kQueues = 8;

enum class BufferPoolType : std::uint8_t { kIngress, kEgress, kBoth };
enum class BufferPoolMode : std::uint8_t { kStatic, kDynamic };

struct BufferPoolConfig {
    std::string name;
    std::uint64_t size_bytes = 0;  ///< reserved and shared together, without xoff_bytes
    BufferPoolType type = BufferPoolType::kIngress;
    /// The kind of threshold that the pool's users are expected to have; each profile says which one it has.
    BufferPoolMode mode = BufferPoolMode::kDynamic;
    std::uint64_t xoff_bytes = 0;  ///< shared headroom on top of size_bytes; 0: every priority group has its own
};

/// Invariant of a loaded configuration: exactly one of dynamic_alpha and static_bytes is set.
struct BufferProfileConfig {
    std::string name;
    std::uint16_t pool = 0;                     ///< index in BufferConfig::pools
    std::uint64_t size_bytes = 0;               ///< reserved for the user alone, without headroom
    std::optional<std::int8_t> dynamic_alpha;   ///< n: may use 2^n of the pool's free shared bytes; -8..7
    std::optional<std::uint64_t> static_bytes;  ///< may use so much of the pool's shared bytes
    /// Of a priority group: what does not fit waits in headroom, and the peer is paused. A lossy one drops.
    bool lossless = false;
    std::uint64_t xoff_bytes = 0;  ///< headroom; 0 with lossless: the buffer manager works it out from the port
    std::uint64_t xon_bytes = 0;   ///< resumes at or below max(xon_bytes, limit - xon_offset_bytes)
    std::uint64_t xon_offset_bytes = 0;
};

struct PortBufferConfig {
    /// Index in BufferConfig::profiles; none: the default of the buffer manager.
    std::array<std::optional<std::uint16_t>, kPriorityGroups> pg{};
    std::array<std::optional<std::uint16_t>, kQueues> queue{};
    std::uint32_t cable_m = 0;  ///< 0: not told
};

struct BufferConfig {
    std::uint32_t cell_bytes = 256;  ///< a frame counts in whole cells
    bool headroom_exact = false;     ///< xoff_bytes of the file is kept although the port's ring needs more
    std::vector<BufferPoolConfig> pools;
    std::vector<BufferProfileConfig> profiles;
    std::vector<PortBufferConfig> ports;  ///< one for each port of the switch; empty: nothing is configured
};

}  // namespace vroce::sw
