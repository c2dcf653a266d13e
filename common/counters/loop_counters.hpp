// How long a worker's iterations take: what answers within one iteration (a pause, a doorbell) answers so late.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "common/base/time.hpp"
#include "common/base/time_histogram.hpp"

namespace vroce {

/// Of one worker's loop. Written by the worker.
class LoopCounters {
public:
    /// An iteration longer than this is a gap: the core was elsewhere.
    static constexpr Duration kGap = milliseconds(1);

    /// An iteration begins now, and ends the one before.
    void begin(Instant now) {
        ++iterations_;
        const Instant begun = std::exchange(begun_, now);
        if (begun == kNever) return;
        const Duration length = now - std::min(begun, now);
        length_.add(length);
        length_max_ = std::max(length_max_, length);
        if (length <= kGap) return;
        ++gaps_;
        gap_time_ = gap_time_ + length;
    }
    /// The worker sleeps until the next begin(): that time was meant.
    void sleep() { begun_ = kNever; }

    [[nodiscard]] std::uint64_t iterations() const { return iterations_; }
    [[nodiscard]] std::uint64_t gaps() const { return gaps_; }
    [[nodiscard]] Duration gap_time() const { return gap_time_; }
    [[nodiscard]] Duration length_max() const { return length_max_; }
    [[nodiscard]] const TimeHistogram& length() const { return length_; }

private:
    std::uint64_t iterations_ = 0;
    std::uint64_t gaps_ = 0;
    Duration gap_time_{};
    Duration length_max_{};
    TimeHistogram length_;
    Instant begun_ = kNever;
};

/// {"below_1024_ns": 17, …}: only buckets that have something.
nlohmann::json time_histogram_json(const TimeHistogram& histogram);

/// {iterations, iteration_max_ns, iteration_length: {…}, loop_gaps, loop_gap_ns}.
nlohmann::json loop_counters_json(const LoopCounters& counters);

}  // namespace vroce
