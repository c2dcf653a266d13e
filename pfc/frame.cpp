#include "pfc/frame.hpp"

#include <algorithm>

#include "common/wire/bytes.hpp"

namespace vroce {

namespace {

constexpr std::array<std::uint8_t, 6> kDestination{0x01, 0x80, 0xC2, 0x00, 0x00, 0x01};
constexpr std::uint16_t kOpcodePause = 0x0001;
constexpr std::uint16_t kOpcodePfc = 0x0101;
constexpr std::size_t kTypeAt = 12;
constexpr std::size_t kOpcodeAt = 14;
constexpr std::size_t kPauseTimeAt = 16;
constexpr std::size_t kVectorAt = 16;
constexpr std::size_t kTimesAt = 18;

}  // namespace

bool is_mac_control(std::span<const std::uint8_t> frame) {
    return frame.size() >= kOpcodeAt && load_be16(&frame[kTypeAt]) == kMacControlEtherType;
}

bool is_pause_for(std::span<const std::uint8_t> frame, const std::array<std::uint8_t, 6>& own_mac) {
    const auto destination = frame.first<6>();
    return std::ranges::equal(destination, kDestination) || std::ranges::equal(destination, own_mac);
}

std::optional<PauseFrame> parse_pause(std::span<const std::uint8_t> frame) {
    if (!is_mac_control(frame) || frame.size() < kPauseTimeAt + 2) return std::nullopt;
    PauseFrame pause;
    const std::uint16_t opcode = load_be16(&frame[kOpcodeAt]);
    if (opcode == kOpcodePause) {
        pause.quanta[0] = load_be16(&frame[kPauseTimeAt]);
        return pause;
    }
    if (opcode != kOpcodePfc || frame.size() < kTimesAt + 16) return std::nullopt;
    pause.priority_based = true;
    pause.enabled = frame[kVectorAt + 1];
    for (std::size_t n = 0; n < pause.quanta.size(); ++n)
        if ((pause.enabled >> n & 1) != 0) pause.quanta[n] = load_be16(&frame[kTimesAt + 2 * n]);
    return pause;
}

std::array<std::uint8_t, kPauseFrameBytes> build_pause(const PauseFrame& pause,
                                                       const std::array<std::uint8_t, 6>& source_mac) {
    std::array<std::uint8_t, kPauseFrameBytes> frame{};
    std::copy(kDestination.begin(), kDestination.end(), frame.begin());
    std::copy(source_mac.begin(), source_mac.end(), frame.begin() + 6);
    store_be16(&frame[kTypeAt], kMacControlEtherType);
    store_be16(&frame[kOpcodeAt], pause.priority_based ? kOpcodePfc : kOpcodePause);
    if (!pause.priority_based) {
        store_be16(&frame[kPauseTimeAt], pause.quanta[0]);
        return frame;
    }
    store_be16(&frame[kVectorAt], pause.enabled);
    for (std::size_t n = 0; n < pause.quanta.size(); ++n)
        if ((pause.enabled >> n & 1) != 0) store_be16(&frame[kTimesAt + 2 * n], pause.quanta[n]);
    return frame;
}

}  // namespace vroce
