// Every way in which the switch ends a frame's life without sending it. One counter per port and reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vroce::sw {

enum class DropReason : std::uint8_t {
    // Counted on the port by which the frame came in.
    kTooShort,          ///< shorter than its Ethernet header or VLAN tag
    kTaggedMacControl,  ///< EtherType 8808 behind a tag (802.3 31.3: MAC control is never tagged)
    kLinkLocal,         ///< 01:80:c2:00:00:0x, which a bridge never relays (802.1Q table 8-1)
    kVlanReserved,      ///< VID 4095 (802.1Q table 9-2)
    kVlanFiltered,      ///< the port is no member of the frame's VLAN (802.1Q 8.6.2)
    kNoNativeVlan,      ///< untagged or priority-tagged on a port without a native VLAN (802.1Q 6.9 a, b)
    kSourceInvalid,     ///< source address is multicast or zero
    kSamePort,          ///< the destination lives behind the port the frame came from
    kNoMember,          ///< flooded, but no other port of the VLAN is up
    kPortDown,          ///< the known destination's port has no link
    /// Flooding a lossless priority lets one slow station pause the whole VLAN, and can close a circle of pauses.
    kUnknownUnicastLossless,
    kBroadcastLossless,  ///< likewise
    kGroupFull,          ///< a lossy priority group is at its threshold
    kHeadroomFull,       ///< a lossless one has used its headroom: the peer did not obey pause
    // Counted on the port by which the frame would have left.
    kMtuExceeded,      ///< larger than the port's MTU
    kInnerTagExposed,  ///< leaving untagged would turn an inner tag into the VLAN tag (VLAN hopping)
    kNoBuffer,         ///< no packet left for a copy of a flooded frame
    kQueueFull,        ///< the egress queue is at its buffer threshold
    kWred,             ///< dropped early by the queue's WRED curve
    kEgressFull,       ///< the port's egress limit is reached
};
inline constexpr std::size_t kDropReasons = 20;

inline constexpr std::array<std::string_view, kDropReasons> kDropLabels{
    "too_short",
    "tagged_mac_control",
    "link_local",
    "vlan_reserved",
    "vlan_filtered",
    "no_native_vlan",
    "source_invalid",
    "same_port",
    "no_member",
    "port_down",
    "unknown_unicast_lossless",
    "broadcast_lossless",
    "group_full",
    "headroom_full",
    "mtu_exceeded",
    "inner_tag_exposed",
    "no_buffer",
    "queue_full",
    "wred",
    "egress_full",
};
static_assert(static_cast<std::size_t>(DropReason::kEgressFull) + 1 == kDropReasons);
static_assert(!kDropLabels.back().empty());

/// On which of its two ports a frame's end is counted.
constexpr bool counted_at_ingress(DropReason reason) {
    return reason < DropReason::kMtuExceeded;
}
constexpr std::size_t index(DropReason reason) {
    return static_cast<std::size_t>(reason);
}
constexpr std::string_view label(DropReason reason) {
    return kDropLabels[index(reason)];
}

}  // namespace vroce::sw
