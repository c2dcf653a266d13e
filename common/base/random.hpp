// Seeded randomness for cores: the same seed gives the same run everywhere. Not for keys that must not be guessed.
#pragma once

#include <cstdint>

namespace vroce {

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, full period.
class Random {
public:
    explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

    constexpr std::uint64_t next_u64() {
        state_ += 0x9E3779B97F4A7C15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    /// [0, 1).
    constexpr double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }
    /// [0, n); n > 0. The bias is below n / 2^64.
    constexpr std::uint64_t below(std::uint64_t n) { return next_u64() % n; }
    constexpr bool chance(double probability) { return probability > 0 && uniform() < probability; }

private:
    std::uint64_t state_;
};

}  // namespace vroce
