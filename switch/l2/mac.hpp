// MAC addresses as 48-bit numbers in transmission order, the form in which tables compare and hash them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace vroce::sw {

/// The address aa:bb:cc:dd:ee:ff is 0xaabbccddeeff.
using Mac = std::uint64_t;

inline constexpr Mac kBroadcast = 0xffff'ffff'ffff;
inline constexpr Mac kMacControlAddress = 0x0180'c200'0001;  ///< 802.3 31B: destination of pause frames

constexpr bool is_multicast(Mac mac) {
    return (mac >> 40 & 1) != 0;
}
/// 01:80:c2:00:00:00 to …:0f: what a bridge never relays (802.1Q table 8-1).
constexpr bool is_link_local(Mac mac) {
    return (mac & ~Mac{0xf}) == 0x0180'c200'0000;
}

/// Reads a frame's first address; precondition: 8 bytes are readable (every frame has 14).
inline Mac read_destination(const std::uint8_t* frame) {
    std::uint64_t word = 0;
    std::memcpy(&word, frame, sizeof word);
    return __builtin_bswap64(word) >> 16;
}

/// Reads a frame's second address; precondition: 12 bytes are readable.
inline Mac read_source(const std::uint8_t* frame) {
    std::uint64_t word = 0;
    std::memcpy(&word, frame + 4, sizeof word);
    return __builtin_bswap64(word) & kBroadcast;
}

/// "aa:bb:cc:dd:ee:ff"
std::string to_string(Mac mac);

}  // namespace vroce::sw
