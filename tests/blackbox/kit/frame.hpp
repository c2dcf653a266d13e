// Frames that a station sends to another through the switch: an IP packet with its DSCP and ECN, with a number that can
// be read back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace vroce::blackbox {

using Bytes = std::vector<std::uint8_t>;
using Mac = std::uint64_t;

inline constexpr Mac kBroadcastMac = 0xffff'ffff'ffff;

/// The station behind the switch's port number `port`.
constexpr Mac station(std::size_t port) {
    return 0x0200'0000'1000 + port;
}

inline constexpr unsigned kRoceDscp = 26;  ///< priority 3, which PFC protects
inline constexpr unsigned kBestEffortDscp = 0;

struct FrameSpec {
    Mac to = station(1);
    Mac from = station(0);
    unsigned dscp = kRoceDscp;
    unsigned ecn = 0;
    std::uint32_t bytes = 996;          ///< without FCS, with tags; at least 64
    std::vector<std::uint32_t> tags{};  ///< TPID << 16 | TCI each, outermost first
    bool v6 = false;
    std::uint32_t number = 0;
};

[[nodiscard]] Bytes frame(const FrameSpec& spec);

/// What is read of a frame that arrived. The IP part is empty when there is none, or its checksum is wrong.
struct FrameView {
    Mac to = 0;
    Mac from = 0;
    std::vector<std::uint32_t> tags;
    std::uint16_t type = 0;
    std::optional<std::uint8_t> traffic_class;
    std::uint8_t ttl = 0;
    std::uint32_t number = 0;

    [[nodiscard]] unsigned dscp() const { return traffic_class.value_or(0) >> 2; }
    [[nodiscard]] unsigned ecn() const { return traffic_class.value_or(0) & 3; }
};

[[nodiscard]] FrameView view(const Bytes& bytes);

constexpr std::uint32_t c_tag(unsigned vid, unsigned pcp = 0, unsigned dei = 0) {
    return 0x8100'0000u | pcp << 13 | dei << 12 | vid;
}
constexpr std::uint32_t s_tag(unsigned vid, unsigned pcp = 0) {
    return 0x88a8'0000u | pcp << 13 | vid;
}

}  // namespace vroce::blackbox
