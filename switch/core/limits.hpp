// Sizes that the switch's tables are built for. A port set is one 64-bit word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vroce::sw {

inline constexpr std::size_t kMaxPorts = 64;
inline constexpr std::size_t kBurst = 32;          ///< packets handled together: rx burst, tx burst, stage burst
inline constexpr std::uint16_t kVlanCount = 4096;  ///< VIDs 1..4094 are usable (802.1Q 9.6)

using PortId = std::uint16_t;
/// Bit p is port p.
using PortSet = std::uint64_t;

constexpr PortSet port_bit(PortId port) {
    return PortSet{1} << port;
}
constexpr bool contains(PortSet set, PortId port) {
    return (set >> port & 1) != 0;
}

}  // namespace vroce::sw
