// Ethernet headers (802.3 3.1.1) and VLAN tags (802.1Q 9.3). As all headers here: parse() holds the only length check,
// and its bytes come before the payload; write() is its reverse.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "common/wire/bytes.hpp"

namespace vroce {

using MacBytes = std::array<std::uint8_t, 6>;

constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeArp = 0x0806;
constexpr std::uint16_t kEtherTypeCTag = 0x8100;
constexpr std::uint16_t kEtherTypeSTag = 0x88A8;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
constexpr MacBytes kBroadcastMac{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

struct EthernetHeader {
    static constexpr std::size_t kBytes = 14;
    MacBytes destination{};
    MacBytes source{};
    std::uint16_t type = 0;  ///< EtherType, or a length up to 1,500

    bool operator==(const EthernetHeader&) const = default;
    static constexpr std::optional<EthernetHeader> parse(std::span<const std::uint8_t> bytes) {
        if (bytes.size() < kBytes) return std::nullopt;
        EthernetHeader header;
        std::copy_n(bytes.begin(), 6, header.destination.begin());
        std::copy_n(bytes.begin() + 6, 6, header.source.begin());
        header.type = load_be16(&bytes[12]);
        return header;
    }
    constexpr void write(std::span<std::uint8_t, kBytes> out) const {
        std::copy_n(destination.begin(), 6, out.begin());
        std::copy_n(source.begin(), 6, out.begin() + 6);
        store_be16(&out[12], type);
    }
};

/// A tag with the type of what it stands before: the four bytes behind a type of 0x8100 (802.1Q) or 0x88A8 (802.1ad).
struct VlanTag {
    static constexpr std::size_t kBytes = 4;
    std::uint8_t pcp = 0;   ///< priority 0..7
    bool dei = false;       ///< drop eligible
    std::uint16_t vid = 0;  ///< 0: a priority tag; 4,095 is reserved
    std::uint16_t type = 0;

    bool operator==(const VlanTag&) const = default;
    static constexpr std::optional<VlanTag> parse(std::span<const std::uint8_t> bytes) {
        if (bytes.size() < kBytes) return std::nullopt;
        const std::uint16_t tci = load_be16(&bytes[0]);
        return VlanTag{static_cast<std::uint8_t>(tci >> 13), (tci >> 12 & 1) != 0,
                       static_cast<std::uint16_t>(tci & 0xFFF), load_be16(&bytes[2])};
    }
    constexpr void write(std::span<std::uint8_t, kBytes> out) const {
        store_be16(&out[0], static_cast<std::uint16_t>((pcp & 7) << 13 | (dei ? 1 : 0) << 12 | (vid & 0xFFF)));
        store_be16(&out[2], type);
    }
};

}  // namespace vroce
