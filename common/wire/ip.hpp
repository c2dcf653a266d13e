// IPv4 (RFC 791) and IPv6 (RFC 8200) headers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "common/wire/arp.hpp"
#include "common/wire/bytes.hpp"
#include "common/wire/checksum.hpp"

namespace vroce {

using Ipv6Bytes = std::array<std::uint8_t, 16>;

constexpr std::uint8_t kProtocolUdp = 17;

struct Ipv4Header {
    static constexpr std::size_t kBytes = 20;  ///< without options; write() makes none
    std::uint8_t header_bytes = kBytes;        ///< with options, when parsed
    std::uint8_t traffic_class = 0;            ///< DSCP and ECN
    std::uint16_t total_bytes = 0;             ///< header and payload; never more than was parsed
    std::uint16_t identification = 0;
    bool dont_fragment = false;
    bool more_fragments = false;
    std::uint16_t fragment_offset = 0;  ///< in units of 8 bytes
    std::uint8_t ttl = 64;
    std::uint8_t protocol = 0;
    Ipv4Bytes source{};
    Ipv4Bytes destination{};

    bool operator==(const Ipv4Header&) const = default;
    [[nodiscard]] constexpr bool is_fragment() const { return more_fragments || fragment_offset != 0; }
    [[nodiscard]] constexpr std::size_t payload_bytes() const { return std::size_t{total_bytes} - header_bytes; }

    /// nullopt: another version, a length that contradicts itself or the bytes there, a wrong checksum. Bytes behind
    /// total_bytes are Ethernet's padding.
    static constexpr std::optional<Ipv4Header> parse(std::span<const std::uint8_t> bytes) {
        if (bytes.size() < kBytes || bytes[0] >> 4 != 4) return std::nullopt;
        Ipv4Header header;
        header.header_bytes = static_cast<std::uint8_t>((bytes[0] & 15) * 4);
        header.total_bytes = load_be16(&bytes[2]);
        if (header.header_bytes < kBytes || header.total_bytes < header.header_bytes ||
            header.total_bytes > bytes.size() || internet_checksum(bytes.first(header.header_bytes)) != 0)
            return std::nullopt;
        header.traffic_class = bytes[1];
        header.identification = load_be16(&bytes[4]);
        const std::uint16_t fragment = load_be16(&bytes[6]);
        header.dont_fragment = (fragment & 0x4000) != 0;
        header.more_fragments = (fragment & 0x2000) != 0;
        header.fragment_offset = fragment & 0x1FFF;
        header.ttl = bytes[8];
        header.protocol = bytes[9];
        std::copy_n(bytes.begin() + 12, 4, header.source.begin());
        std::copy_n(bytes.begin() + 16, 4, header.destination.begin());
        return header;
    }
    /// 20 bytes with their checksum.
    constexpr void write(std::span<std::uint8_t, kBytes> out) const {
        out[0] = 0x45;
        out[1] = traffic_class;
        store_be16(&out[2], total_bytes);
        store_be16(&out[4], identification);
        store_be16(&out[6], static_cast<std::uint16_t>((dont_fragment ? 0x4000 : 0) | (more_fragments ? 0x2000 : 0) |
                                                       (fragment_offset & 0x1FFF)));
        out[8] = ttl;
        out[9] = protocol;
        store_be16(&out[10], 0);
        std::copy_n(source.begin(), 4, out.begin() + 12);
        std::copy_n(destination.begin(), 4, out.begin() + 16);
        store_be16(&out[10], internet_checksum(out));
    }
};

struct Ipv6Header {
    static constexpr std::size_t kBytes = 40;
    std::uint8_t traffic_class = 0;   ///< DSCP and ECN
    std::uint32_t flow_label = 0;     ///< 20 bits
    std::uint16_t payload_bytes = 0;  ///< never more than was parsed
    std::uint8_t next_header = 0;     ///< a protocol, or an extension header that the caller walks
    std::uint8_t hop_limit = 64;
    Ipv6Bytes source{};
    Ipv6Bytes destination{};

    bool operator==(const Ipv6Header&) const = default;
    /// nullopt: another version, or a payload longer than the bytes there.
    static constexpr std::optional<Ipv6Header> parse(std::span<const std::uint8_t> bytes) {
        if (bytes.size() < kBytes || bytes[0] >> 4 != 6) return std::nullopt;
        const std::uint32_t first = load_be32(&bytes[0]);
        Ipv6Header header;
        header.traffic_class = static_cast<std::uint8_t>(first >> 20);
        header.flow_label = first & 0xFFFFF;
        header.payload_bytes = load_be16(&bytes[4]);
        if (header.payload_bytes > bytes.size() - kBytes) return std::nullopt;
        header.next_header = bytes[6];
        header.hop_limit = bytes[7];
        std::copy_n(bytes.begin() + 8, 16, header.source.begin());
        std::copy_n(bytes.begin() + 24, 16, header.destination.begin());
        return header;
    }
    constexpr void write(std::span<std::uint8_t, kBytes> out) const {
        store_be32(&out[0], 6U << 28 | std::uint32_t{traffic_class} << 20 | (flow_label & 0xFFFFF));
        store_be16(&out[4], payload_bytes);
        out[6] = next_header;
        out[7] = hop_limit;
        std::copy_n(source.begin(), 16, out.begin() + 8);
        std::copy_n(destination.begin(), 16, out.begin() + 24);
    }
};

/// The part of a transport's checksum that its IP header gives (RFC 768, RFC 8200 8.1).
constexpr std::uint32_t pseudo_header_sum(const Ipv4Header& ip, std::uint16_t transport_bytes) {
    return sum_words(ip.destination, sum_words(ip.source, std::uint32_t{ip.protocol} + transport_bytes));
}
constexpr std::uint32_t pseudo_header_sum(const Ipv6Header& ip, std::uint16_t transport_bytes) {
    return sum_words(ip.destination, sum_words(ip.source, std::uint32_t{ip.next_header} + transport_bytes));
}

}  // namespace vroce
