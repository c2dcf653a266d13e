// What the port is at the moment, in the words of IBTA and of sysfs.
#pragma once

#include <cstdint>
#include <string>

namespace vroce::nic {

/// enum ibv_mtu: 1 (256) … 5 (4096). The largest whose packets, with all RoCE v2 headers and the ICRC, fit into IP
/// packets of `mtu_bytes`; 256 when not even that does.
[[nodiscard]] std::uint32_t active_mtu(std::uint32_t mtu_bytes);
constexpr std::uint32_t kMaxMtu = 5;

/// Lane speed and width that make up a speed, as ibv_query_port and sysfs say it.
struct PortRate {
    std::uint8_t width;  ///< 1: 1X, 2: 4X
    std::uint8_t speed;  ///< 1: 2.5, 2: 5, 4: 10, 8: 10 (FDR10), 16: 14, 32: 25, 64: 50, 128: 100 Gb/s a lane
    const char* text;
};
/// The largest rate that is not above `speed_bps`.
[[nodiscard]] const PortRate& port_rate(std::uint64_t speed_bps);

struct PortState {
    bool link_up = false;
    std::uint32_t mtu_bytes = 1'500;
    std::uint64_t speed_bps = 0;

    [[nodiscard]] std::uint32_t state() const { return link_up ? 4 : 1; }          ///< enum ibv_port_state
    [[nodiscard]] std::uint8_t physical_state() const { return link_up ? 5 : 3; }  ///< IBTA 14.2.5.6
    [[nodiscard]] const char* state_text() const { return link_up ? "4: ACTIVE" : "1: DOWN"; }
    [[nodiscard]] const char* physical_state_text() const { return link_up ? "5: LinkUp" : "3: Disabled"; }
};

/// IB_PORT_CM_SUP: the only capability of IBTA's table that says anything on Ethernet.
constexpr std::uint32_t kPortCapabilities = 1u << 16;

}  // namespace vroce::nic
