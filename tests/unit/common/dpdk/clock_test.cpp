#include "common/dpdk/clock.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace vroce {
namespace {

TEST(TscClock, StartsWithTheProcessNotWithTheMachine) {
    const TscClock clock;
    EXPECT_EQ(clock.at(TscClock::start_ticks()), TscClock::kEpoch);
    EXPECT_GE(clock.now(), TscClock::kEpoch);
    EXPECT_LT(clock.now(), TscClock::kEpoch + seconds(3'600)) << "whatever the machine's uptime";
}

TEST(TscClock, DoesNotDriftOver100Days) {
    const TscClock clock;
    const std::uint64_t hz = rte_get_tsc_hz();
    for (const std::int64_t elapsed_s : {1, 60, 86'400, 8'640'000}) {
        const Instant at = clock.at(TscClock::start_ticks() + hz * static_cast<std::uint64_t>(elapsed_s));
        const Duration error = TscClock::kEpoch + seconds(elapsed_s) - at;
        EXPECT_GE(error.ps, 0);
        EXPECT_LE(error.ps, 1 + elapsed_s) << "less than a picosecond a second";
    }
}

TEST(TscClock, AllClocksOfAProcessShowTheSameAndNoneGoesBack) {
    const TscClock one;
    const TscClock other;
    const std::uint64_t ticks = rte_rdtsc();
    EXPECT_EQ(one.at(ticks), other.at(ticks));
    Instant last = one.now();
    for (int i = 0; i < 1'000; ++i) {
        const Instant now = (i % 2 == 0 ? one : other).now();
        ASSERT_GE(now, last);
        last = now;
    }
}

TEST(TscClock, CountsRealTime) {
    const TscClock clock;
    const Instant before = clock.now();
    usleep(20'000);
    EXPECT_GE(clock.now() - before, milliseconds(19)) << "a lower bound never flakes";
}

}  // namespace
}  // namespace vroce
