// The transport's two timer tables: ACK timeout (IBTA 9.7.6.1.3) and RNR NAK timer (table 45).
#pragma once

#include <array>
#include <cstdint>

#include "common/base/time.hpp"

namespace vroce::nic {

/// 4.096 us x 2^code; code 0 means never and is the caller's case.
constexpr Duration ack_timeout(std::uint8_t code) {
    return nanoseconds(4'096) * (std::int64_t{1} << (code & 31));
}

/// In units of 10 us, by the 5-bit code.
constexpr std::array<std::int32_t, 32> kRnrTimer10us = {
    65'536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,    384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
constexpr Duration rnr_timer(std::uint8_t code) {
    return microseconds(10) * kRnrTimer10us[code & 31];
}

}  // namespace vroce::nic
