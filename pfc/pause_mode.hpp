// Which kind of pause a port speaks and obeys: one of them at most (802.3 31B.1, 802.1Q clause 36).
#pragma once

#include <cstdint>

namespace vroce {

enum class PauseMode : std::uint8_t {
    kOff,
    kLink,      ///< 802.3x PAUSE: the whole port
    kPriority,  ///< PFC: each priority apart
};

constexpr unsigned kPriorities = 8;

}  // namespace vroce
