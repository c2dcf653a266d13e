// Addresses of a RoCE connection: what of its frames does not change from packet to packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vroce::nic {

struct MacAddress {
    std::array<std::uint8_t, 6> bytes{};
    bool operator==(const MacAddress&) const = default;
};

/// GIDs and IP addresses alike: IPv4 as ::ffff:a.b.c.d.
struct Gid {
    std::array<std::uint8_t, 16> bytes{};
    bool operator==(const Gid&) const = default;
    [[nodiscard]] bool is_ipv4() const {
        for (int i = 0; i < 10; ++i)
            if (bytes[static_cast<std::size_t>(i)] != 0) return false;
        return bytes[10] == 0xff && bytes[11] == 0xff;
    }
};

/// Everything of the frames of one connection that does not change from packet to packet.
struct AddressVector {
    MacAddress source_mac;
    MacAddress destination_mac;
    Gid source;
    Gid destination;
    std::uint16_t vlan = 0;  ///< 0: untagged
    std::uint8_t pcp = 0;
    std::uint8_t traffic_class = 0;  ///< DSCP << 2 | ECN
    std::uint8_t hop_limit = 64;
    std::uint16_t udp_source_port = 0xC000;
};

}  // namespace vroce::nic
