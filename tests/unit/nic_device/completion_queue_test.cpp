#include "nic/device/completion_queue.hpp"

#include <gtest/gtest.h>

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
    CompletionQueue cq{memory.ring(), 5, 0xC0, events};
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
    CompletionQueue cq(memory.ring(), CompletionQueue::kNoChannel, 1, events);
    memory.control.armed = VROCE_ARM_NEXT;
    ASSERT_TRUE(cq.push(success(1), 1, 1, 0));
    EXPECT_TRUE(events.comp.empty());
}

}  // namespace
}  // namespace vroce::nic
