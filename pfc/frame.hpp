// MAC control frames: 802.3x PAUSE (802.3 31B) and priority-based flow control (802.1Q clause 36, 802.3 31D).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace vroce {

/// Bytes on a port whose frames carry no FCS.
constexpr std::size_t kPauseFrameBytes = 60;
constexpr std::uint16_t kMacControlEtherType = 0x8808;

struct PauseFrame {
    bool priority_based = false;            ///< PFC; else 802.3x, which uses quanta[0] only
    std::uint8_t enabled = 0;               ///< PFC class-enable vector, bit n: quanta[n] counts
    std::array<std::uint16_t, 8> quanta{};  ///< 0: resume
};

/// EtherType 0x8808, whatever the destination: between MACs, never to be forwarded or learnt from (802.3 clause 31).
[[nodiscard]] bool is_mac_control(std::span<const std::uint8_t> frame);
/// To 01:80:C2:00:00:01 or to the station's own address, the two that a MAC takes pause frames by (802.3 31B.1).
[[nodiscard]] bool is_pause_for(std::span<const std::uint8_t> frame, const std::array<std::uint8_t, 6>& own_mac);

/// nullopt when it is not a pause frame of either kind: another opcode, or too short for its fields. Quanta of classes
/// that are not enabled are given as 0 (they must be ignored whatever they say).
[[nodiscard]] std::optional<PauseFrame> parse_pause(std::span<const std::uint8_t> frame);

[[nodiscard]] std::array<std::uint8_t, kPauseFrameBytes> build_pause(const PauseFrame& pause,
                                                                     const std::array<std::uint8_t, 6>& source_mac);

}  // namespace vroce
