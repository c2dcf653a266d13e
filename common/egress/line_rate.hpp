// Bytes into time at a line's rate, exactly over any number of frames: picoseconds a byte in fixed point, computed when
// the rate is set, and the fraction of a picosecond carried from frame to frame. No division for a frame.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/base/time.hpp"

namespace vroce {

/// Bytes that a frame takes on the line beyond its length: FCS, preamble, start delimiter, inter-packet gap.
constexpr std::uint32_t kLineOverheadBytes = 4 + 20;

class LineRate {
public:
    LineRate() = default;
    /// bps: bits per second; 0: no rate, every time is 0.
    explicit LineRate(std::uint64_t bps) : bps_(bps), ps_per_byte_q32_(per_byte(bps)) {}

    [[nodiscard]] std::uint64_t bps() const { return bps_; }
    /// Rounded down to the picosecond.
    [[nodiscard]] Duration time(std::uint64_t bytes) const {
        return picoseconds(static_cast<std::int64_t>((u128{bytes} * ps_per_byte_q32_) >> 32));
    }
    /// Moves `at` on by the time of `bytes`; fraction_q32 belongs to `at` and is the caller's to keep.
    void advance(Instant& at, std::uint32_t& fraction_q32, std::uint64_t bytes) const {
        const u128 sum = u128{bytes} * ps_per_byte_q32_ + fraction_q32;
        fraction_q32 = static_cast<std::uint32_t>(sum);
        at += picoseconds(static_cast<std::int64_t>(sum >> 32));
    }

private:
    using u128 = unsigned __int128;
    static std::uint64_t per_byte(std::uint64_t bps) {
        if (bps == 0) return 0;
        const u128 q32 = ((u128{8'000'000'000'000u} << 32) + bps / 2) / bps;
        return static_cast<std::uint64_t>(std::min<u128>(q32, std::numeric_limits<std::uint64_t>::max()));
    }

    std::uint64_t bps_ = 0;
    std::uint64_t ps_per_byte_q32_ = 0;  ///< off by at most 2^-33 ps
};

}  // namespace vroce
