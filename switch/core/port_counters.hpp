// What a port of the switch counts. Bytes are those of the frame without its FCS.
// Invariant: rx_packets = rx_mac_control + drops on the ingress side + frames forwarded or flooded.
#pragma once

#include <array>
#include <cstdint>

#include "switch/core/buffer_config.hpp"
#include "switch/core/drop_reason.hpp"
#include "switch/core/qos_config.hpp"
#include "switch/l2/mac.hpp"

namespace vroce::sw {

/// One direction of a port: packets = unicast + multicast + broadcast.
struct TrafficCounters {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t unicast = 0;
    std::uint64_t multicast = 0;
    std::uint64_t broadcast = 0;

    void count(Mac destination, std::uint32_t frame_bytes) {
        ++packets;
        bytes += frame_bytes;
        if (!is_multicast(destination)) {
            ++unicast;
        } else {
            ++(destination == kBroadcast ? broadcast : multicast);
        }
    }
};

struct PriorityCounters {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;

    void count(std::uint32_t frame_bytes) {
        ++packets;
        bytes += frame_bytes;
    }
};

/// ECN marks of one queue.
struct EcnCounters {
    std::uint64_t marked = 0;
    std::uint64_t marked_after_gap = 0;  ///< soon after the worker was away: its queue, not the network's
    std::uint64_t not_ect = 0;           ///< would have been marked, but its transport does not know ECN
};

using DropCounters = std::array<std::uint64_t, kDropReasons>;

struct PortCounters {
    TrafficCounters rx;
    TrafficCounters tx;  ///< given to the port's queue, as RFC 2863's ifOut…Pkts: sent, waiting or lost with the link
    std::uint64_t rx_mac_control = 0;  ///< consumed by the MAC layer, never forwarded
    std::uint64_t flooded = 0;         ///< frames from this port that went to all members of their VLAN
    std::uint64_t learn_refused = 0;   ///< source addresses not learnt because the FDB was full for this port
    std::array<PriorityCounters, kPriorities> rx_priority{};  ///< frames that have a VLAN, by priority group
    /// RoCE that came in a priority without PFC while the switch has PFC at all, but for CNPs: by the DSCP that put it
    /// there, or by the PCP (0 for RoCE v1 without a tag).
    std::array<std::uint64_t, kDscps> roce_in_lossy_class_dscp{};
    std::array<std::uint64_t, kPcps> roce_in_lossy_class_pcp{};
    DropCounters drops{};
    std::array<DropCounters, kPriorityGroups> group_drops{};  ///< those of the ingress that came after the lookup
    std::array<DropCounters, kQueues> queue_drops{};          ///< those of the egress
    std::array<EcnCounters, kQueues> ecn{};
    std::uint64_t pause_without_packet = 0;  ///< pause frames put off because the pool was empty

    void drop(DropReason reason) { ++drops[index(reason)]; }
    void drop_in_group(DropReason reason, std::size_t group) {
        drop(reason);
        ++group_drops[group][index(reason)];
    }
    void drop_in_queue(DropReason reason, std::size_t queue) {
        drop(reason);
        ++queue_drops[queue][index(reason)];
    }
    std::uint64_t roce_in_lossy_class() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : roce_in_lossy_class_dscp) sum += count;
        for (const std::uint64_t count : roce_in_lossy_class_pcp) sum += count;
        return sum;
    }
    std::uint64_t dropped() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : drops) sum += count;
        return sum;
    }
};

}  // namespace vroce::sw
