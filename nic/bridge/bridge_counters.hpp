// What the NIC's bridge counts: where frames came from and went to, and why one did not go on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/counters/counter_set.hpp"

namespace vroce::nic {

enum class BridgeCounter : std::uint8_t {
    FromWire,
    FromTap,
    FromEngine,
    ToWire,
    ToTap,
    ToEngine,
    Copies,           ///< made for a group address
    Announcements,    ///< gratuitous ARP and unsolicited neighbour advertisements
    DropRunt,         ///< shorter than an Ethernet header
    DropOversize,     ///< larger than the MTU allows
    DropOwnSource,    ///< our own address came back from the wire: a loop
    DropUnknownMac,   ///< unicast to nobody here
    DropUnknownVlan,  ///< nobody here is in that VLAN
    DropMacControl,   ///< a program tried to pause the port
    DropTapSource,    ///< an interface sent with an address that is not its own
    DropTapTagged,    ///< an interface sent a VLAN tag: tags are the endpoint's setting
    DropNoPacket,     ///< the pool had no packet for a copy
    Count,
};
constexpr std::size_t kBridgeCounterCount = static_cast<std::size_t>(BridgeCounter::Count);

constexpr std::array kBridgeCounterLabels = std::to_array<std::string_view>({
    "from_wire",
    "from_tap",
    "from_engine",
    "to_wire",
    "to_tap",
    "to_engine",
    "copies",
    "announcements",
    "drop_runt",
    "drop_oversize",
    "drop_own_source",
    "drop_unknown_mac",
    "drop_unknown_vlan",
    "drop_mac_control",
    "drop_tap_source",
    "drop_tap_tagged",
    "drop_no_packet",
});
static_assert(kBridgeCounterLabels.size() == kBridgeCounterCount, "each counter has its label, in the same order");

constexpr std::string_view label(BridgeCounter counter) {
    return kBridgeCounterLabels[static_cast<std::size_t>(counter)];
}
using BridgeCounters = CounterSet<BridgeCounter>;

}  // namespace vroce::nic
