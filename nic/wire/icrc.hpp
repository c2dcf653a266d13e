// The invariant CRC of RoCE (IBTA 7.8.1, annex A17.3.3): CRC-32 over what no switch or router may change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vroce::nic {

enum class Encapsulation : std::uint8_t;

/// `l3` is the IPv4, IPv6 or GRH header with all that lies between it and `transport` (BTH); `transport_bytes` runs
/// from BTH through pad. The value goes on the wire least significant byte first.
[[nodiscard]] std::uint32_t icrc(Encapsulation encapsulation, const std::uint8_t* l3, const std::uint8_t* transport,
                                 std::size_t transport_bytes);

}  // namespace vroce::nic
