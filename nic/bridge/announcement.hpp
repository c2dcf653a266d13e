// Frames by which an endpoint says where an address of its lives: gratuitous ARP (RFC 5227 2.3) for IPv4, an
// unsolicited neighbour advertisement (RFC 4861 7.2.6) for IPv6.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/wire/address.hpp"

namespace vroce::nic {

constexpr std::size_t kAnnouncementBytesMax = 86;

/// Writes the untagged frame and returns its length.
[[nodiscard]] std::size_t write_announcement(std::span<std::uint8_t, kAnnouncementBytesMax> out, const MacAddress& mac,
                                             const Gid& address);

/// The link-local address that follows from a MAC (RFC 4291 appendix A): fe80::, modified EUI-64.
[[nodiscard]] Gid link_local_of(const MacAddress& mac);

}  // namespace vroce::nic
