// How long things took, in powers of two: cheap enough for each packet, fine enough to tell a wire from a queue.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "common/base/time.hpp"

namespace vroce {

/// counts[b]: how many took less than 2^b ns and not less than half of that; the last holds all that took longer.
struct TimeHistogram {
    static constexpr unsigned kBuckets = 32;
    std::array<std::uint64_t, kBuckets> counts{};

    /// `time`: not negative.
    void add(Duration time) {
        const auto ns = static_cast<std::uint64_t>(time.ps) / 1'000;
        const auto bucket = static_cast<unsigned>(std::bit_width(ns));
        ++counts[bucket < kBuckets ? bucket : kBuckets - 1];
    }
};

}  // namespace vroce
