// What the configuration says about priorities: how a port's frames find their traffic class, priority group and queue,
// what they carry when they leave, which priorities are lossless, and how queues share the line. Plain arrays, one set
// for each port, so that a lookup is an index and nothing else. The terms are those of SONiC's QoS tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "switch/core/buffer_config.hpp"

namespace vroce::sw {

inline constexpr std::size_t kTrafficClasses = 8;
inline constexpr std::size_t kPriorities = 8;  ///< of PFC; a priority and its priority group have the same number
inline constexpr std::size_t kPcps = 8;
inline constexpr std::size_t kDscps = 64;
static_assert(kPriorities == kPriorityGroups);

/// An array that holds its own indices: the map that changes nothing.
template <std::size_t N>
constexpr std::array<std::uint8_t, N> identity_map() {
    std::array<std::uint8_t, N> map{};
    for (std::size_t i = 0; i < N; ++i) map[i] = static_cast<std::uint8_t>(i);
    return map;
}

/// Which mark of a frame decides. A frame without that mark takes the port's default.
enum class Trust : std::uint8_t {
    kPort,         ///< none: always the port's default
    kPcp,          ///< the outer C-tag's PCP
    kDscp,         ///< the IP header's DSCP, also behind tags
    kDscpThenPcp,  ///< IP by DSCP even when tagged, else tagged by PCP ("apptrust order dscp pcp")
    kPcpThenDscp,  ///< tagged by PCP, else IP by DSCP
};

/// Ingress: every entry is 0..7.
struct ClassMaps {
    Trust trust = Trust::kPort;
    std::uint8_t default_tc = 0;
    std::array<std::uint8_t, kPcps> pcp_to_tc{};
    std::array<std::uint8_t, kDscps> dscp_to_tc{};
    std::array<std::uint8_t, kTrafficClasses> tc_to_priority = identity_map<kTrafficClasses>();  ///< and priority group
    std::array<std::uint8_t, kTrafficClasses> tc_to_queue = identity_map<kTrafficClasses>();
};

/// Egress: what leaves is marked anew where the map is in use, and stays as it came where it is not.
struct RemarkMaps {
    bool pcp = false;                                        ///< tc_to_pcp is in use
    bool dscp = false;                                       ///< tc_to_dscp is in use
    std::array<std::uint8_t, kTrafficClasses> tc_to_pcp{};   ///< 0..7
    std::array<std::uint8_t, kTrafficClasses> tc_to_dscp{};  ///< 0..63
};

/// Invariant of a loaded configuration: link_pause excludes pfc_enable (802.3 annex 31D, 802.1Q clause 36).
struct FlowControlConfig {
    std::uint8_t pfc_enable = 0;  ///< bit p: priority p is lossless on this port
    /// Pause of any priority is obeyed, while only lossless ones are paused (SONiC's pfc_asym).
    bool pfc_asymmetric = false;
    std::uint8_t watchdog = 0;  ///< bit p: the watchdog looks after priority p
    bool link_pause = false;    ///< 802.3x in both directions, for all priorities together
    /// The queue that a received pause of a priority holds.
    std::array<std::uint8_t, kPriorities> priority_to_queue = identity_map<kPriorities>();

    [[nodiscard]] constexpr bool lossless(unsigned priority) const { return (pfc_enable >> priority & 1) != 0; }
};

enum class SchedulerType : std::uint8_t { kStrict, kDwrr };

struct SchedulerConfig {
    SchedulerType type = SchedulerType::kDwrr;
    std::uint8_t weight = 1;         ///< 1..100, of what the strict queues leave; without meaning for a strict one
    std::uint64_t max_rate_bps = 0;  ///< bits on the line; 0: no limit
    std::uint64_t burst_bytes = 0;   ///< bucket of max_rate_bps; 0: one frame
};

/// Over the queue's length: nothing up to min_bytes, then a rising share up to probability_percent at max_bytes,
/// everything beyond. ECN marks frames that can be marked (ECT); WRED drops the others, in lossy priorities only. Each
/// has thresholds of its own, since a queue that marks early need not drop early.
struct WredConfig {
    bool ecn = false;
    bool wred = false;
    std::uint8_t probability_percent = 0;  ///< of marks, 0..100, at max_bytes
    std::uint64_t min_bytes = 0;           ///< <= max_bytes
    std::uint64_t max_bytes = 0;
    std::uint8_t drop_probability_percent = 0;  ///< of drops, likewise
    std::uint64_t drop_min_bytes = 0;
    std::uint64_t drop_max_bytes = 0;
};

struct QueueConfig {
    SchedulerConfig scheduler;
    WredConfig wred;
};

/// The default is a port without priorities: all frames in traffic class, priority and queue 0, nothing lossless.
struct PortQosConfig {
    ClassMaps ingress;
    RemarkMaps remark;
    FlowControlConfig flow_control;
    std::array<QueueConfig, kQueues> queues{};
    std::uint64_t max_rate_bps = 0;  ///< of all queues together; 0: the port's speed
};

}  // namespace vroce::sw
