// A token bucket as one point in time: when the bucket is full again. Over any time T at most rate x T + bucket leaves.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/time.hpp"
#include "common/egress/line_rate.hpp"

namespace vroce {

class Shaper {
public:
    /// rate_bps: bits per second on the line, not 0. Another rate starts with a full bucket: what an old, slow one was
    /// owed could last for minutes.
    void set(std::uint64_t rate_bps, std::uint32_t burst_bytes) {
        if (rate_bps != rate_.bps()) full_at_ = Instant{};
        rate_ = LineRate(rate_bps);
        burst_ = rate_.time(burst_bytes);
    }
    /// From when on the bucket holds line_bytes, or is full when it is smaller than that.
    [[nodiscard]] Instant ready_at(std::uint64_t line_bytes) const {
        const Duration spare = burst_ - rate_.time(line_bytes);
        return spare.ps > 0 ? full_at_ - spare : full_at_;
    }
    void take(Instant now, std::uint64_t line_bytes) {
        if (full_at_ < now) {
            full_at_ = now;
            fraction_q32_ = 0;
        }
        rate_.advance(full_at_, fraction_q32_, line_bytes);
    }
    /// The bucket neither filled nor emptied from then on until now.
    void stood_still(Instant since, Instant now) { full_at_ = std::max(full_at_, since) + (now - since); }

private:
    LineRate rate_;
    Duration burst_;                  ///< time in which an empty bucket fills
    Instant full_at_{};               ///< in the past: the bucket is full
    std::uint32_t fraction_q32_ = 0;  ///< of a picosecond of full_at_
};

}  // namespace vroce
