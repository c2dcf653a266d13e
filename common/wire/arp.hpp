// ARP between Ethernet and IPv4 (RFC 826).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "common/wire/ethernet.hpp"

namespace vroce {

using Ipv4Bytes = std::array<std::uint8_t, 4>;

struct ArpPacket {
    static constexpr std::size_t kBytes = 28;
    static constexpr std::uint16_t kRequest = 1;
    static constexpr std::uint16_t kReply = 2;
    std::uint16_t operation = 0;
    MacBytes sender_mac{};
    Ipv4Bytes sender_address{};
    MacBytes target_mac{};
    Ipv4Bytes target_address{};

    bool operator==(const ArpPacket&) const = default;
    /// nullopt also for other kinds of hardware or protocol.
    static constexpr std::optional<ArpPacket> parse(std::span<const std::uint8_t> bytes) {
        if (bytes.size() < kBytes || load_be64(&bytes[0]) >> 16 != kEthernetIpv4) return std::nullopt;
        ArpPacket packet;
        packet.operation = load_be16(&bytes[6]);
        std::copy_n(bytes.begin() + 8, 6, packet.sender_mac.begin());
        std::copy_n(bytes.begin() + 14, 4, packet.sender_address.begin());
        std::copy_n(bytes.begin() + 18, 6, packet.target_mac.begin());
        std::copy_n(bytes.begin() + 24, 4, packet.target_address.begin());
        return packet;
    }
    constexpr void write(std::span<std::uint8_t, kBytes> out) const {
        store_be64(&out[0], kEthernetIpv4 << 16 | operation);
        std::copy_n(sender_mac.begin(), 6, out.begin() + 8);
        std::copy_n(sender_address.begin(), 4, out.begin() + 14);
        std::copy_n(target_mac.begin(), 6, out.begin() + 18);
        std::copy_n(target_address.begin(), 4, out.begin() + 24);
    }

private:
    /// Hardware Ethernet, protocol IPv4, addresses of 6 and 4 bytes.
    static constexpr std::uint64_t kEthernetIpv4 = 0x0001'0800'0604;
};

}  // namespace vroce
