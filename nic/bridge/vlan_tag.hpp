// The 802.1Q tag of a frame: read, put on, taken off (802.1Q clause 9). The frame has at least an Ethernet header.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/packet/packet.hpp"
#include "nic/wire/bytes.hpp"

namespace vroce::nic {

constexpr std::uint32_t kEthernetBytes = 14;
constexpr std::uint32_t kVlanTagBytes = 4;
constexpr std::uint16_t kEtherTypeVlan = 0x8100;
constexpr std::uint16_t kEtherTypeServiceVlan = 0x88A8;
constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeArp = 0x0806;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
constexpr std::uint16_t kEtherTypeMacControl = 0x8808;

inline std::uint16_t ether_type(const Packet& packet) {
    return load_be16(packet.data + 12);
}
/// Any kind of tag, whether or not all of it is there.
inline bool is_tagged(const Packet& packet) {
    return ether_type(packet) == kEtherTypeVlan || ether_type(packet) == kEtherTypeServiceVlan;
}

/// Precondition: packet.length >= kEthernetBytes + kVlanTagBytes.
inline void take_tag_off(Packet& packet) {
    std::memmove(packet.data + kVlanTagBytes, packet.data, 12);
    packet.pull(kVlanTagBytes);
}

/// Precondition: packet.headroom >= kVlanTagBytes.
inline void put_tag_on(Packet& packet, std::uint16_t vlan, std::uint8_t pcp) {
    packet.push(kVlanTagBytes);
    std::memmove(packet.data, packet.data + kVlanTagBytes, 12);
    store_be16(packet.data + 12, kEtherTypeVlan);
    store_be16(packet.data + 14, static_cast<std::uint16_t>(pcp << 13 | vlan));
}

/// The priority that a frame asks for: its tag's PCP, else the class selector bits of its DSCP (RFC 2474 4.2.2), 0 when
/// it has neither.
inline std::uint8_t priority_of(const Packet& packet) {
    if (packet.length < kEthernetBytes + 2) return 0;
    if (is_tagged(packet)) return packet.data[kEthernetBytes] >> 5;
    if (packet.length < kEthernetBytes + 2) return 0;
    const std::uint8_t* l3 = packet.data + kEthernetBytes;
    if (ether_type(packet) == kEtherTypeIpv4) return l3[1] >> 5;
    if (ether_type(packet) == kEtherTypeIpv6) return (l3[0] & 0x0F) >> 1;
    return 0;
}

}  // namespace vroce::nic
