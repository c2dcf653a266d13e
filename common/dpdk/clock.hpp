// The only clock of the data path: the processor's time stamp counter as picoseconds.
#pragma once

#include <rte_cycles.h>

#include "common/base/time.hpp"

namespace vroce {

/// Monotonic; the epoch is the start of the counter. Any thread.
class TscClock {
public:
    TscClock()
        : ps_per_tick_fixed_((static_cast<unsigned __int128>(1'000'000'000'000u) << kShift) / rte_get_tsc_hz()) {}

    [[nodiscard]] Instant now() const { return at(rte_rdtsc()); }
    [[nodiscard]] Instant at(std::uint64_t ticks) const {
        return {static_cast<std::int64_t>((ps_per_tick_fixed_ * ticks) >> kShift)};
    }

private:
    static constexpr unsigned kShift = 32;
    unsigned __int128 ps_per_tick_fixed_;
};

}  // namespace vroce
