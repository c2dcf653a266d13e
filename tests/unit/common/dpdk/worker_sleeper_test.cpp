#include "common/dpdk/worker_sleeper.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "common/dpdk/clock.hpp"

namespace {
int yields = 0;
}

/// Takes the place of the C library's, to be counted.
extern "C" int sched_yield() noexcept {
    ++yields;
    return 0;
}

namespace vroce {
namespace {

template <typename Call>
int yields_during(Call&& call) {
    const int before = yields;
    call();
    return yields - before;
}

void ring(int fd) {
    const std::uint64_t one = 1;
    ASSERT_EQ(write(fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
}

constexpr Instant kStart = Instant{} + seconds(1);

TEST(WorkerSleeper, SleepsAfterAWhileOfEmptyPolls) {
    WorkerSleeper sleeper(PollMode::Adaptive, microseconds(50));
    EXPECT_FALSE(sleeper.should_sleep(kStart, true));
    EXPECT_FALSE(sleeper.should_sleep(kStart + microseconds(50) - picoseconds(1), false));
    EXPECT_TRUE(sleeper.should_sleep(kStart + microseconds(50), false));
    EXPECT_FALSE(sleeper.should_sleep(kStart + microseconds(51), true)) << "work begins the count anew";
    EXPECT_FALSE(sleeper.should_sleep(kStart + microseconds(100), false));
}

TEST(WorkerSleeper, OffersItsCoreWhenItHasNothingToDoAndNotWhenItHas) {
    WorkerSleeper sleeper(PollMode::Adaptive);
    EXPECT_EQ(yields_during([&] { static_cast<void>(sleeper.should_sleep(kStart, true)); }), 0);
    EXPECT_EQ(yields_during([&] { static_cast<void>(sleeper.should_sleep(kStart + microseconds(1), false)); }), 1);
}

TEST(WorkerSleeper, SleepsAtOnceForAWhileWhenTheCoreWasTakenForLong) {
    WorkerSleeper sleeper(PollMode::Adaptive);
    EXPECT_FALSE(sleeper.should_sleep(kStart, true));
    EXPECT_FALSE(sleeper.should_sleep(kStart + microseconds(1), false)) << "offered";
    const Instant back = kStart + milliseconds(3);
    EXPECT_FALSE(sleeper.should_sleep(back, true)) << "work goes first";
    EXPECT_TRUE(sleeper.should_sleep(back + microseconds(1), false));
    const Instant later = back + milliseconds(20);
    EXPECT_FALSE(sleeper.should_sleep(later, true));
    EXPECT_FALSE(sleeper.should_sleep(later + microseconds(1), false)) << "and is offered again";
}

TEST(WorkerSleeper, ALongIterationOfItsOwnIsNobodyElses) {
    WorkerSleeper sleeper(PollMode::Adaptive);
    EXPECT_FALSE(sleeper.should_sleep(kStart, true));
    EXPECT_FALSE(sleeper.should_sleep(kStart + milliseconds(3), true));
    EXPECT_FALSE(sleeper.should_sleep(kStart + milliseconds(3) + microseconds(1), false));
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
