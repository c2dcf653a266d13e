// Time as a value: picoseconds in 64 bits (106 days), because a pause quantum at 100 Gb/s is 5.12 ns.
// The cores never read a clock; they are given an Instant and answer with the next one they care about.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace vroce {

/// A span of time. Range ±106 days; arithmetic beyond it is the caller's error.
struct Duration {
    std::int64_t ps = 0;

    constexpr auto operator<=>(const Duration&) const = default;
    constexpr Duration operator+(Duration other) const { return {ps + other.ps}; }
    constexpr Duration operator-(Duration other) const { return {ps - other.ps}; }
    constexpr Duration operator*(std::int64_t factor) const { return {ps * factor}; }
    constexpr Duration operator/(std::int64_t divisor) const { return {ps / divisor}; }
};

constexpr Duration picoseconds(std::int64_t n) {
    return {n};
}
constexpr Duration nanoseconds(std::int64_t n) {
    return {n * 1'000};
}
constexpr Duration microseconds(std::int64_t n) {
    return {n * 1'000'000};
}
constexpr Duration milliseconds(std::int64_t n) {
    return {n * 1'000'000'000};
}
constexpr Duration seconds(std::int64_t n) {
    return {n * 1'000'000'000'000};
}

/// A point in time, counted from an epoch that only the owner of the clock knows.
struct Instant {
    std::int64_t ps = 0;

    constexpr auto operator<=>(const Instant&) const = default;
    constexpr Instant operator+(Duration d) const { return {ps + d.ps}; }
    constexpr Instant operator-(Duration d) const { return {ps - d.ps}; }
    constexpr Duration operator-(Instant other) const { return {ps - other.ps}; }
    constexpr Instant& operator+=(Duration d) {
        ps += d.ps;
        return *this;
    }
};

/// "No deadline": later than every real instant.
constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};

}  // namespace vroce
