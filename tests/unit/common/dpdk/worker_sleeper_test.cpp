#include "common/dpdk/worker_sleeper.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "common/dpdk/clock.hpp"

namespace vroce {
namespace {

void ring(int fd) {
    const std::uint64_t one = 1;
    ASSERT_EQ(write(fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
}

TEST(WorkerSleeper, SleepsAfterFiveMicrosecondsOfEmptyPolls) {
    WorkerSleeper sleeper(PollMode::Adaptive);
    const Instant start = Instant{} + seconds(1);
    EXPECT_FALSE(sleeper.should_sleep(start, true));
    EXPECT_FALSE(sleeper.should_sleep(start + microseconds(5) - picoseconds(1), false));
    EXPECT_TRUE(sleeper.should_sleep(start + microseconds(5), false));
    EXPECT_FALSE(sleeper.should_sleep(start + microseconds(6), true)) << "work begins the count anew";
    EXPECT_FALSE(sleeper.should_sleep(start + microseconds(10), false));
}

TEST(WorkerSleeper, ABusyOneNeverSleeps) {
    WorkerSleeper sleeper(PollMode::Busy);
    EXPECT_FALSE(sleeper.should_sleep(Instant{} + seconds(100), false));
}

TEST(WorkerSleeper, SleepsToItsDeadlineNotBeyondPastOnes) {
    WorkerSleeper sleeper(PollMode::Adaptive);
    const TscClock clock;
    const Instant before = clock.now();
    sleeper.sleep(before, before + milliseconds(10));
    EXPECT_GE(clock.now() - before, milliseconds(9)) << "a lower bound never flakes";
    EXPECT_EQ(sleeper.sleeps(), 1u);
    sleeper.sleep(before, before - seconds(1));
    sleeper.sleep(before, before);
    EXPECT_EQ(sleeper.sleeps(), 1u) << "what is due is not slept for";
}

TEST(WorkerSleeper, ADescriptorEndsASleepWithoutADeadline) {
    WorkerSleeper sleeper(PollMode::Adaptive);
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    sleeper.add(fd);
    std::thread ringer([&] { ring(fd); });
    sleeper.sleep(Instant{}, kNever);
    ringer.join();
    EXPECT_EQ(sleeper.sleeps(), 1u);
    close(fd);
}

TEST(WorkerSleeper, ARemovedDescriptorEndsNothing) {
    WorkerSleeper sleeper(PollMode::Adaptive);
    const int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    sleeper.add(fd);
    sleeper.remove(fd);
    const TscClock clock;
    const Instant before = clock.now();
    sleeper.sleep(before, before + milliseconds(5));
    EXPECT_GE(clock.now() - before, milliseconds(4));
    close(fd);
}

}  // namespace
}  // namespace vroce
