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

/// The application's side of the arming protocol: arm, fence, look once more, and only then wait.
void consume_with_events(CqMemory& memory, std::uint32_t total, const std::atomic<std::uint32_t>& events,
                         std::atomic<bool>& lost) {
    std::uint32_t seen = 0;
    std::uint32_t events_taken = 0;
    const auto drain = [&] {
        const std::uint32_t slots = static_cast<std::uint32_t>(memory.entries.size());
        while (std::atomic_ref(memory.entries[seen % slots].phase).load(std::memory_order_acquire) ==
               seen / slots + 1) {
            ++seen;
            std::atomic_ref(memory.control.consumer).store(seen, std::memory_order_release);
        }
    };
    while (seen < total) {
        std::atomic_ref(memory.control.armed).store(VROCE_ARM_NEXT);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const std::uint32_t before = seen;
        drain();
        if (seen != before) continue;  // something was there: arm anew, as a program does
        // Nothing was there when the queue was armed: whatever comes must bring an event.
        for (std::uint64_t patience = 0; events.load() == events_taken; ++patience) {
            std::this_thread::yield();
            if (patience < 100'000'000) continue;
            lost = true;
            return;
        }
        events_taken = events.load();
        drain();
    }
}

class CountingEvents final : public EventSink {
public:
    void comp_event(std::uint32_t, std::uint64_t) override { comp.fetch_add(1); }
    void async_event(const vroce_async_event&) override { async.fetch_add(1); }
    std::atomic<std::uint32_t> comp{0};
    std::atomic<std::uint32_t> async{0};
};

TEST(CompletionQueueAlone, ArmingAndCompletingAtTheSameTimeLosesNoEvent) {
    constexpr std::uint32_t kTotal = 100'000;
    CqMemory memory(64);
    CountingEvents events;
    DeviceCounters counters;
    CompletionQueue cq(memory.ring(), 1, 1, events, counters);
    std::atomic<bool> lost{false};
    std::thread consumer([&] { consume_with_events(memory, kTotal, events.comp, lost); });
    for (std::uint32_t sent = 0; sent < kTotal && !lost;) {
        const std::uint32_t consumed = std::atomic_ref(memory.control.consumer).load(std::memory_order_acquire);
        if (sent - consumed == memory.entries.size()) {
            std::this_thread::yield();
            continue;
        }
        ASSERT_TRUE(cq.push(success(sent), 1, 1, 0));
        ++sent;
        if (sent % 7 == 0) std::this_thread::yield();  // let it fall asleep between any two
    }
    consumer.join();
    EXPECT_FALSE(lost) << "a completion came after the queue was armed, and no event";
    EXPECT_EQ(cq.comp_events(), events.comp.load());
    EXPECT_EQ(events.async.load(), 0u);
}

}  // namespace
}  // namespace vroce::nic
