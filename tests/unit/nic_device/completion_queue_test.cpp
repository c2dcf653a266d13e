#include "nic/device/completion_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/nic_device/rings.hpp"

namespace vroce::nic {
namespace {

Completion success(std::uint64_t wr_id, bool solicited = false) {
    Completion c;
    c.wr_id = wr_id;
    c.solicited = solicited;
    return c;
}

class CompletionQueueTest : public ::testing::Test {
protected:
    bool push(const Completion& c) { return cq.push(c, 17, 3, 1'000); }
    CqMemory memory{4};
    RecordingEvents events;
    DeviceCounters counters;
    CompletionQueue cq{memory.ring(), 5, 0xC0, events, counters};
};

TEST_F(CompletionQueueTest, EachRoundOfTheRingHasItsPhase) {
    for (std::uint32_t i = 0; i < 12; ++i) {
        ASSERT_TRUE(push(success(i)));
        EXPECT_EQ(memory.entries[i % 4].phase, i / 4 + 1);
        EXPECT_EQ(memory.entries[i % 4].wr_id, i);
        EXPECT_EQ(memory.entries[i % 4].qpn, 17u);
        EXPECT_EQ(memory.entries[i % 4].qp_slot, 3u);
        memory.control.consumer = i + 1;
    }
}

TEST_F(CompletionQueueTest, OverflowIsToldOnceAndEndsTheQueue) {
    for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(push(success(i)));
    EXPECT_FALSE(push(success(4)));
    memory.control.consumer = 4;
    EXPECT_FALSE(push(success(5))) << "what was lost stays lost";
    ASSERT_EQ(events.async.size(), 1u);
    EXPECT_EQ(events.async[0].event_type, 0u) << "IBV_EVENT_CQ_ERR";
    EXPECT_EQ(events.async[0].element, 0xC0u);
    EXPECT_EQ(cq.async_events(), 1u);
    EXPECT_EQ(memory.entries[0].wr_id, 0u) << "and nothing was overwritten";
    EXPECT_EQ(counters[DeviceCounter::CompletionQueueOverflows], 1u);
    EXPECT_EQ(counters[DeviceCounter::Completions], 4u);
}

TEST_F(CompletionQueueTest, AConsumerThatLiesHarmsItsOwnRingOnly) {
    memory.control.consumer = 0x8000'0000;
    for (std::uint64_t i = 0; i < 100; ++i) static_cast<void>(push(success(i)));
    EXPECT_LE(events.async.size(), 1u);
}

TEST_F(CompletionQueueTest, OneArmingGivesOneEvent) {
    ASSERT_TRUE(push(success(1)));
    EXPECT_TRUE(events.comp.empty()) << "not armed";
    memory.control.armed = VROCE_ARM_NEXT;
    ASSERT_TRUE(push(success(2)));
    ASSERT_TRUE(push(success(3)));
    ASSERT_EQ(events.comp.size(), 1u);
    EXPECT_EQ(events.comp[0], std::make_pair(5u, std::uint64_t{0xC0}));
    EXPECT_EQ(memory.control.armed, VROCE_ARM_NONE);
    EXPECT_EQ(cq.comp_events(), 1u);
}

TEST_F(CompletionQueueTest, ArmedForSolicitedWaitsForASolicitedOrAnError) {
    memory.control.armed = VROCE_ARM_SOLICITED;
    ASSERT_TRUE(push(success(1)));
    EXPECT_TRUE(events.comp.empty());
    ASSERT_TRUE(push(success(2, true)));
    EXPECT_EQ(events.comp.size(), 1u);
    memory.control.armed = VROCE_ARM_SOLICITED;
    Completion error = success(3);
    error.status = WcStatus::WrFlushErr;
    ASSERT_TRUE(push(error));
    EXPECT_EQ(events.comp.size(), 2u);
}

TEST(CompletionQueueAlone, WithoutAChannelNobodyIsTold) {
    CqMemory memory(2);
    RecordingEvents events;
    DeviceCounters counters;
    CompletionQueue cq(memory.ring(), CompletionQueue::kNoChannel, 1, events, counters);
    memory.control.armed = VROCE_ARM_NEXT;
    ASSERT_TRUE(cq.push(success(1), 1, 1, 0));
    EXPECT_TRUE(events.comp.empty());
}

class CountingEvents final : public EventSink {
public:
    void comp_event(std::uint32_t, std::uint64_t) override { comp.fetch_add(1); }
    void async_event(const vroce_async_event&) override { async.fetch_add(1); }
    std::atomic<std::uint32_t> comp{0};
    std::atomic<std::uint32_t> async{0};
};

/// In each round an application arms, fences and looks, while the NIC completes: one of them must see the other.
class ArmRace {
public:
    static constexpr std::uint32_t kRounds = 200'000;

    void complete_each_round() {
        for (std::uint32_t round = 1; round <= kRounds; ++round) {
            await(arming_, round);
            pushed_ok_ = cq_.push(success(round), 1, 1, 0) && pushed_ok_;
            completed_.store(round);
        }
    }
    void arm_each_round() {
        const std::uint32_t slots = static_cast<std::uint32_t>(memory_.entries.size());
        for (std::uint32_t seen = 0; seen < kRounds; ++seen) {
            const std::uint32_t told = events_.comp.load();
            arming_.store(seen + 1);
            std::atomic_ref(memory_.control.armed).store(VROCE_ARM_NEXT, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            const std::uint32_t phase =
                std::atomic_ref(memory_.entries[seen % slots].phase).load(std::memory_order_acquire);
            await(completed_, seen + 1);
            const bool looked_in_time = phase == seen / slots + 1;
            if (!looked_in_time && events_.comp.load() == told) ++lost;
            std::atomic_ref(memory_.control.consumer).store(seen + 1, std::memory_order_release);
        }
    }
    [[nodiscard]] bool pushed_ok() const { return pushed_ok_; }
    [[nodiscard]] std::uint32_t told() const { return events_.comp.load(); }
    [[nodiscard]] std::uint32_t counted() const { return cq_.comp_events(); }
    std::uint32_t lost = 0;

private:
    static void await(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
        for (std::uint32_t spins = 1; word.load() < value; ++spins)
            if (spins % 1'024 == 0) std::this_thread::yield();
    }
    CqMemory memory_{64};
    CountingEvents events_;
    DeviceCounters counters_;
    CompletionQueue cq_{memory_.ring(), 1, 1, events_, counters_};
    std::atomic<std::uint32_t> arming_{0};
    std::atomic<std::uint32_t> completed_{0};
    bool pushed_ok_ = true;
};

TEST(CompletionQueueAlone, ArmingAndCompletingAtTheSameTimeLosesNoEvent) {
    ArmRace race;
    std::thread nic([&] { race.complete_each_round(); });
    race.arm_each_round();
    nic.join();
    EXPECT_EQ(race.lost, 0u) << "a completion that was not seen when the queue was armed, and no event about it";
    EXPECT_TRUE(race.pushed_ok());
    EXPECT_EQ(race.told(), race.counted());
}

}  // namespace
}  // namespace vroce::nic
