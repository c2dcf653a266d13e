// UDP headers (RFC 768).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/wire/bytes.hpp"
#include "common/wire/checksum.hpp"

namespace vroce {

struct UdpHeader {
    static constexpr std::size_t kBytes = 8;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint16_t total_bytes = 0;  ///< header and payload; never more than was parsed
    std::uint16_t checksum = 0;     ///< 0: none; RoCE has its ICRC

    bool operator==(const UdpHeader&) const = default;
    [[nodiscard]] constexpr std::size_t payload_bytes() const { return total_bytes - kBytes; }

    /// `bytes`: the IP payload. nullopt: a length that contradicts it.
    static constexpr std::optional<UdpHeader> parse(std::span<const std::uint8_t> bytes) {
        if (bytes.size() < kBytes) return std::nullopt;
        const UdpHeader header{load_be16(&bytes[0]), load_be16(&bytes[2]), load_be16(&bytes[4]), load_be16(&bytes[6])};
        if (header.total_bytes < kBytes || header.total_bytes > bytes.size()) return std::nullopt;
        return header;
    }
    constexpr void write(std::span<std::uint8_t, kBytes> out) const {
        store_be16(&out[0], source_port);
        store_be16(&out[2], destination_port);
        store_be16(&out[4], total_bytes);
        store_be16(&out[6], checksum);
    }
};

/// Of a datagram whose checksum field is 0, with the sum of its pseudo header: what to write there. Never 0, which
/// means "none".
constexpr std::uint16_t udp_checksum(std::span<const std::uint8_t> datagram, std::uint32_t pseudo_header) {
    const std::uint16_t checksum = internet_checksum(datagram, pseudo_header);
    return checksum == 0 ? std::uint16_t{0xFFFF} : checksum;
}

}  // namespace vroce
