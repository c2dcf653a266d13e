// The few numbers of Ethernet and 802.1Q that a bridge needs.
#pragma once

#include <cstdint>

namespace vroce::sw {

inline constexpr std::uint32_t kHeaderBytes = 14;
inline constexpr std::uint32_t kTagBytes = 4;
inline constexpr std::uint32_t kTypeOffset = 12;
inline constexpr std::uint32_t kMaxTags = 2;

inline constexpr std::uint16_t kTypeCTag = 0x8100;
inline constexpr std::uint16_t kTypeSTag = 0x88a8;
inline constexpr std::uint16_t kTypeMacControl = 0x8808;

inline constexpr std::uint16_t kVidMask = 0x0fff;
inline constexpr std::uint16_t kPcpMask = 0xe000;
inline constexpr unsigned kPcpShift = 13;

inline std::uint16_t read_be16(const std::uint8_t* at) {
    return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}
inline void write_be16(std::uint8_t* at, std::uint16_t value) {
    at[0] = static_cast<std::uint8_t>(value >> 8);
    at[1] = static_cast<std::uint8_t>(value);
}

}  // namespace vroce::sw
