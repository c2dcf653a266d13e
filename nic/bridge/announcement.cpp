#include "nic/bridge/announcement.hpp"

#include <algorithm>
#include <cstring>

#include "nic/bridge/vlan_tag.hpp"

namespace vroce::nic {
namespace {

constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint8_t kNeighbourAdvertisement = 136;
constexpr std::uint8_t kTargetLinkLayerAddress = 2;
constexpr std::size_t kAdvertisementBytes = 32;

void write_ethernet(std::uint8_t* p, const std::array<std::uint8_t, 6>& to, const MacAddress& from,
                    std::uint16_t type) {
    std::copy(to.begin(), to.end(), p);
    std::copy(from.bytes.begin(), from.bytes.end(), p + 6);
    store_be16(p + 12, type);
}

/// One's complement sum over big-endian words (RFC 1071), bytes even.
std::uint32_t sum(const std::uint8_t* p, std::size_t bytes, std::uint32_t start) {
    for (std::size_t i = 0; i < bytes; i += 2) start += load_be16(p + i);
    return start;
}

std::size_t write_arp(std::uint8_t* p, const MacAddress& mac, const Gid& address) {
    write_ethernet(p, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, mac, kEtherTypeArp);
    std::uint8_t* arp = p + kEthernetBytes;
    store_be16(arp, 1);  // Ethernet
    store_be16(arp + 2, kEtherTypeIpv4);
    arp[4] = 6;
    arp[5] = 4;
    store_be16(arp + 6, 1);  // a request for the sender's own address: hosts update, nobody answers
    std::copy(mac.bytes.begin(), mac.bytes.end(), arp + 8);
    std::copy_n(address.bytes.begin() + 12, 4, arp + 14);
    std::fill_n(arp + 18, 6, std::uint8_t{0});
    std::copy_n(address.bytes.begin() + 12, 4, arp + 24);
    return kEthernetBytes + 28;
}

std::size_t write_advertisement(std::uint8_t* p, const MacAddress& mac, const Gid& address) {
    write_ethernet(p, {0x33, 0x33, 0, 0, 0, 1}, mac, kEtherTypeIpv6);
    std::uint8_t* ip = p + kEthernetBytes;
    store_be32(ip, 0x60000000);
    store_be16(ip + 4, kAdvertisementBytes);
    ip[6] = kIcmpv6;
    ip[7] = 255;
    std::copy(address.bytes.begin(), address.bytes.end(), ip + 8);
    constexpr std::array<std::uint8_t, 16> kAllNodes = {0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    std::copy(kAllNodes.begin(), kAllNodes.end(), ip + 24);

    std::uint8_t* icmp = ip + 40;
    std::memset(icmp, 0, kAdvertisementBytes);
    icmp[0] = kNeighbourAdvertisement;
    icmp[4] = 0x20;  // override what the cache holds
    std::copy(address.bytes.begin(), address.bytes.end(), icmp + 8);
    icmp[24] = kTargetLinkLayerAddress;
    icmp[25] = 1;  // 8 bytes
    std::copy(mac.bytes.begin(), mac.bytes.end(), icmp + 26);
    std::uint32_t total = sum(icmp, kAdvertisementBytes, sum(ip + 8, 32, kAdvertisementBytes + kIcmpv6));
    while (total >> 16 != 0) total = (total & 0xFFFF) + (total >> 16);
    store_be16(icmp + 2, static_cast<std::uint16_t>(~total));
    return kEthernetBytes + 40 + kAdvertisementBytes;
}

}  // namespace

std::size_t write_announcement(std::span<std::uint8_t, kAnnouncementBytesMax> out, const MacAddress& mac,
                               const Gid& address) {
    return address.is_ipv4() ? write_arp(out.data(), mac, address) : write_advertisement(out.data(), mac, address);
}

Gid link_local_of(const MacAddress& mac) {
    const auto& m = mac.bytes;
    return {
        {0xFE, 0x80, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(m[0] ^ 2), m[1], m[2], 0xFF, 0xFE, m[3], m[4], m[5]}};
}

}  // namespace vroce::nic
