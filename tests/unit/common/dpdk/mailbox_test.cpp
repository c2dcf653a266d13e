#include "common/dpdk/mailbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/dpdk/worker_sleeper.hpp"
#include "tests/unit/common/dpdk/environment.hpp"

namespace vroce {
namespace {

TEST(Mailbox, RunsOnTheWorkerAndWaitsForIt) {
    Mailbox mailbox;
    std::atomic<bool> stop{false};
    std::thread worker([&] {
        while (!stop) mailbox.drain();
        mailbox.stop();
    });
    const std::thread::id worker_id = worker.get_id();
    int sum = 0;  // written by the worker, read by us: call() orders the two
    for (int i = 1; i <= 1'000; ++i) {
        std::thread::id ran_on;
        ASSERT_TRUE(mailbox.call([&] {
            ran_on = std::this_thread::get_id();
            sum += i;
        }));
        ASSERT_EQ(ran_on, worker_id);
    }
    EXPECT_EQ(sum, 500'500);
    stop = true;
    worker.join();
}

TEST(Mailbox, SeveralCallersTakeTurns) {
    Mailbox mailbox;
    std::atomic<bool> stop{false};
    std::thread worker([&] {
        while (!stop) mailbox.drain();
        mailbox.stop();
    });
    int count = 0;
    const auto caller = [&] {
        for (int i = 0; i < 200; ++i) mailbox.call([&] { ++count; });
    };
    std::thread one(caller);
    std::thread two(caller);
    one.join();
    two.join();
    stop = true;
    worker.join();
    EXPECT_EQ(count, 400);
}

TEST(Mailbox, WakesAWorkerThatSleepsForEver) {
    Mailbox mailbox;
    WorkerSleeper sleeper(PollMode::Adaptive);
    sleeper.add(mailbox.fd());
    bool stop = false;
    std::thread worker([&] {
        while (!stop) {
            sleeper.sleep(Instant{}, kNever);
            mailbox.drain();
        }
        mailbox.stop();
    });
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(mailbox.call([] {}));
    ASSERT_TRUE(mailbox.call([&] { stop = true; }));
    worker.join();
}

TEST(Mailbox, AWorkerThatHasEndedRunsNothingAndKeepsNobodyWaiting) {
    Mailbox mailbox;
    bool ran = false;
    std::atomic<bool> answered{false};
    std::thread caller([&] {
        EXPECT_FALSE(mailbox.call([&] { ran = true; }));
        answered = true;
    });
    ASSERT_TRUE(test::await([&] { return test::is_readable(mailbox.fd()); })) << "the call waits";
    EXPECT_FALSE(answered);
    mailbox.stop();
    caller.join();
    EXPECT_FALSE(mailbox.call([&] { ran = true; }));
    EXPECT_FALSE(mailbox.drain());
    EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace vroce
