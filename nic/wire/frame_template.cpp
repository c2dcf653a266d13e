// Building of frame fronts (annex A17.3.1: RoCE v2 over IPv4 and IPv6).
#include "nic/wire/frame_template.hpp"

#include <cstring>

#include "nic/wire/icrc.hpp"

namespace vroce::nic {
namespace {

constexpr std::size_t kUdpBytes = 8;

std::uint8_t* put_ethernet(std::uint8_t* p, const AddressVector& av, std::uint16_t type) {
    std::memcpy(p, av.destination_mac.bytes.data(), 6);
    std::memcpy(p + 6, av.source_mac.bytes.data(), 6);
    p += 12;
    if (av.vlan != 0 || av.pcp != 0) {  // VLAN 0 with a priority is a priority tag (802.1Q 6.9)
        store_be16(p, 0x8100);
        store_be16(p + 2, static_cast<std::uint16_t>(av.pcp << 13 | (av.vlan & 0xFFF)));
        p += 4;
    }
    store_be16(p, type);
    return p + 2;
}

/// IPv4 with IHL 5, identification 0 and DF: nothing on the way may need to change what the ICRC covers.
std::uint8_t* put_ipv4(std::uint8_t* p, const AddressVector& av) {
    p[0] = 0x45;
    p[1] = av.traffic_class;
    store_be16(p + 6, 0x4000);
    p[8] = av.hop_limit;
    p[9] = 17;
    std::memcpy(p + 12, av.source.bytes.data() + 12, 4);
    std::memcpy(p + 16, av.destination.bytes.data() + 12, 4);
    return p + 20;
}

std::uint8_t* put_ipv6(std::uint8_t* p, const AddressVector& av) {
    store_be32(p, 6U << 28 | std::uint32_t{av.traffic_class} << 20);
    p[6] = 17;
    p[7] = av.hop_limit;
    std::memcpy(p + 8, av.source.bytes.data(), 16);
    std::memcpy(p + 24, av.destination.bytes.data(), 16);
    return p + 40;
}

std::uint32_t sum_words(const std::uint8_t* p, std::size_t bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < bytes; i += 2) sum += load_be16(p + i);
    return sum;
}

}  // namespace

FrameTemplate::FrameTemplate(const AddressVector& av) {
    const bool ipv4 = av.destination.is_ipv4();
    encapsulation_ = ipv4 ? Encapsulation::V2Ipv4 : Encapsulation::V2Ipv6;
    std::uint8_t* const l3 = put_ethernet(bytes_.data(), av, ipv4 ? 0x0800 : 0x86DD);
    std::uint8_t* const udp = ipv4 ? put_ipv4(l3, av) : put_ipv6(l3, av);
    store_be16(udp, av.udp_source_port);
    store_be16(udp + 2, kRoceUdpPort);
    l3_offset_ = static_cast<std::uint8_t>(l3 - bytes_.data());
    bytes_used_ = static_cast<std::uint8_t>(udp + kUdpBytes - bytes_.data());
    if (ipv4) checksum_base_ = sum_words(l3, 20);
}

void FrameTemplate::write_front(std::uint8_t* frame, std::size_t transport_bytes) const {
    std::memcpy(frame, bytes_.data(), bytes_used_);
    const std::size_t udp_bytes = kUdpBytes + transport_bytes + kIcrcBytes;
    std::uint8_t* const l3 = frame + l3_offset_;
    store_be16(frame + bytes_used_ - 4, static_cast<std::uint16_t>(udp_bytes));
    if (encapsulation_ != Encapsulation::V2Ipv4) {
        store_be16(l3 + 4, static_cast<std::uint16_t>(udp_bytes));
        return;
    }
    const auto total = static_cast<std::uint16_t>(20 + udp_bytes);
    store_be16(l3 + 2, total);
    std::uint32_t sum = checksum_base_ + total;
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    store_be16(l3 + 10, static_cast<std::uint16_t>(~sum));
}

void FrameTemplate::seal(std::uint8_t* frame, std::size_t transport_bytes) const {
    std::uint8_t* const transport = frame + bytes_used_;
    store_raw32(transport + transport_bytes, icrc(encapsulation_, frame + l3_offset_, transport, transport_bytes));
}

}  // namespace vroce::nic
