// The values that people write in options: addresses, speeds, numbers, names. Each parser takes the whole text or
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nic/wire/address.hpp"

namespace vroce::nic {

/// An address of an IP interface with its network's length: 10.0.0.1/24, fd00::1/64.
struct InterfaceAddress {
    Gid address;  ///< IPv4 as ::ffff:a.b.c.d
    std::uint8_t prefix_length = 0;
    bool operator==(const InterfaceAddress&) const = default;
};

/// Unicast and not zero, as 02:00:00:00:00:01.
[[nodiscard]] std::optional<MacAddress> parse_mac(const std::string& text);
[[nodiscard]] std::optional<InterfaceAddress> parse_interface_address(const std::string& text);
/// "10G", "2500M", "2.5G"; 10M to 800G.
[[nodiscard]] std::optional<std::uint64_t> parse_speed(const std::string& text);
/// Decimal, or hexadecimal behind 0x.
[[nodiscard]] std::optional<std::uint32_t> parse_number(const std::string& text, std::uint32_t low, std::uint32_t high);
/// Fit for a path and a section: letters, digits, '-' and '_', not first; up to 32.
[[nodiscard]] bool is_name(const std::string& text);
/// What the kernel takes as an interface's name (IFNAMSIZ - 1 bytes), without those that must be quoted.
[[nodiscard]] bool is_interface_name(const std::string& text);

[[nodiscard]] std::string text_of(const MacAddress& mac);
/// IPv4 in dots, IPv6 in colons.
[[nodiscard]] std::string text_of(const Gid& address);

}  // namespace vroce::nic
