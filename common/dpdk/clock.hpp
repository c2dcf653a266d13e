// The only clock of the data path: the processor's time stamp counter as picoseconds.
#pragma once

#include <rte_cycles.h>

#include "common/base/time.hpp"

namespace vroce {

/// Monotonic. Any thread; all clocks of a process show the same time, which is kEpoch when the process starts: the
/// counter itself starts with the machine, and an Instant ends 106 days after its zero.
class TscClock {
public:
    /// Later than Instant{}, so that "never yet" stands before every time, also less a credit.
    static constexpr Instant kEpoch = Instant{} + seconds(1);

    TscClock()
        : ps_per_tick_fixed_((static_cast<unsigned __int128>(1'000'000'000'000u) << kShift) / rte_get_tsc_hz()) {}

    [[nodiscard]] Instant now() const { return at(rte_rdtsc()); }
    /// `ticks` of the counter, not before the process's start.
    [[nodiscard]] Instant at(std::uint64_t ticks) const {
        return kEpoch + picoseconds(static_cast<std::int64_t>((ps_per_tick_fixed_ * (ticks - start_ticks_)) >> kShift));
    }
    [[nodiscard]] static std::uint64_t start_ticks() { return start_ticks_; }

private:
    static constexpr unsigned kShift = 32;
    static inline const std::uint64_t start_ticks_ = rte_rdtsc();
    unsigned __int128 ps_per_tick_fixed_;
};

}  // namespace vroce
