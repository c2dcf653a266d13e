#include "pfc/storm_check.hpp"

#include <gtest/gtest.h>

namespace vroce {
namespace {

FlowControlSettings settings(PauseMode mode, std::uint8_t rx, std::uint8_t tx) {
    FlowControlSettings settings;
    settings.speed_bps = 10'000'000'000;
    settings.mode = mode;
    settings.rx_priorities = rx;
    settings.tx_priorities = tx;
    return settings;
}

TEST(StormCheck, TakesWhatThePortObeysAndAsksFor) {
    const FlowControlSettings asymmetric = settings(PauseMode::kPriority, 0b1000, 0b10000);
    EXPECT_TRUE(check_storm(asymmetric, 0b1000, 0));
    EXPECT_TRUE(check_storm(asymmetric, 0, 0b10000));
    EXPECT_TRUE(check_storm(asymmetric, 0, 0));
}

TEST(StormCheck, RefusesAStormThatWouldBeSilent) {
    const FlowControlSettings asymmetric = settings(PauseMode::kPriority, 0b1000, 0b10000);
    EXPECT_EQ(check_storm(asymmetric, 0b11000, 0).error(),
              "pfc-storm 3,4: the port has no PFC for priority 4; allowed: 3");
    EXPECT_EQ(check_storm(asymmetric, 0, 0b1000).error(),
              "pfc-storm 3: the port has no PFC for priority 3; allowed: 4");
    EXPECT_EQ(check_storm(settings(PauseMode::kOff, 0b1000, 0), 0b1000, 0).error(),
              "pfc-storm 3: the port has no PFC for priority 3; allowed: none before PFC is on");
}

TEST(StormCheck, TakesAnyPriorityWhereTheWholePortIsPaused) {
    EXPECT_TRUE(check_storm(settings(PauseMode::kLink, 0, 0), 0b1, 0b10));
}

}  // namespace
}  // namespace vroce
