// Packet sequence numbers: 24 bits that wrap. There is no operator<, since on a circle "less" needs a point of view;
// distance() gives one (IBTA 9.7.1: b is after a when (b - a) mod 2^24 < 2^23).
#pragma once

#include <cstdint>

namespace vroce::nic {

constexpr std::uint32_t kMask24 = 0xFF'FFFF;
constexpr std::uint32_t kMaxPsnsInFlight = 1U << 23;

class Psn {
public:
    constexpr Psn() = default;
    constexpr explicit Psn(std::uint32_t value) : value_(value & kMask24) {}

    [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
    constexpr bool operator==(const Psn&) const = default;
    constexpr Psn operator+(std::uint32_t n) const { return Psn(value_ + n); }
    constexpr Psn operator-(std::uint32_t n) const { return Psn(value_ - n); }
    constexpr Psn& operator+=(std::uint32_t n) { return *this = *this + n; }

private:
    std::uint32_t value_ = 0;
};

/// Signed steps from `from` to `to`, -2^23 .. 2^23 - 1; positive when `to` is after `from`.
constexpr std::int32_t distance(Psn from, Psn to) {
    const std::uint32_t delta = (to.value() - from.value()) & kMask24;
    return delta < kMaxPsnsInFlight ? static_cast<std::int32_t>(delta)
                                    : static_cast<std::int32_t>(delta) - static_cast<std::int32_t>(kMask24 + 1);
}
/// Unsigned steps forward from `from` to `to`, 0 .. 2^24 - 1: a place inside a run that begins at `from`.
constexpr std::uint32_t steps(Psn from, Psn to) {
    return (to.value() - from.value()) & kMask24;
}

}  // namespace vroce::nic
