// The few fields of an IP header that a bridge reads and writes in place. common/wire/ip.hpp checks and copies whole
// headers, which an end station must and a bridge must not: it carries what is broken inside as it came.
#pragma once

#include <cstdint>

#include "common/wire/checksum.hpp"
#include "switch/core/ethernet.hpp"

namespace vroce::sw {

inline constexpr std::uint16_t kTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kTypeIpv6 = 0x86dd;

/// `bytes` are there behind the Ethernet header: is a whole header (with options) among them?
inline bool holds_ipv4(const std::uint8_t* ip, std::uint32_t bytes) {
    if (bytes < 20 || ip[0] >> 4 != 4) return false;
    const std::uint32_t header_bytes = (ip[0] & 15u) * 4;
    return header_bytes >= 20 && header_bytes <= bytes;
}
inline bool holds_ipv6(const std::uint8_t* ip, std::uint32_t bytes) {
    return bytes >= 40 && ip[0] >> 4 == 6;
}

// Precondition of all that follow: the header is whole.

inline bool is_ipv4(const std::uint8_t* ip) {
    return ip[0] >> 4 == 4;
}
/// Without IPv6's extension headers.
inline std::uint32_t ip_header_bytes(const std::uint8_t* ip) {
    return is_ipv4(ip) ? (ip[0] & 15u) * 4 : 40u;
}
/// 255 for a fragment that is not the first: what follows is no header.
inline std::uint8_t ipv4_protocol(const std::uint8_t* ip) {
    return (read_be16(ip + 6) & 0x1fff) == 0 ? ip[9] : std::uint8_t{255};
}
inline std::uint8_t ipv6_next_header(const std::uint8_t* ip) {
    return ip[6];
}

/// 0..63
inline std::uint8_t read_dscp(const std::uint8_t* ip) {
    return is_ipv4(ip) ? static_cast<std::uint8_t>(ip[1] >> 2) : static_cast<std::uint8_t>(read_be16(ip) >> 6 & 0x3f);
}
/// Leaves ECN alone. IPv4's checksum stays as right, or as wrong, as it was.
inline void write_dscp(std::uint8_t* ip, std::uint8_t dscp) {
    const std::uint16_t before = read_be16(ip);
    const bool v4 = is_ipv4(ip);
    const unsigned shift = v4 ? 2 : 6;
    const auto after = static_cast<std::uint16_t>((before & ~(0x3fu << shift)) | static_cast<unsigned>(dscp) << shift);
    if (after == before) return;
    write_be16(ip, after);
    if (v4) write_be16(ip + 10, update_checksum(read_be16(ip + 10), before, after));
}

}  // namespace vroce::sw
