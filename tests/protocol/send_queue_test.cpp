// The send queue's PSN bookkeeping, up to the longest message and across the wrap.
#include "nic/transport/send_queue.hpp"

#include <gtest/gtest.h>

#include "nic/transport/segmentation.hpp"
#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

class Queue : public testing::Test {
protected:
    SlabPool pool{1};
    EngineCore core{{}, pool};
    TestEnv env;
    QpContext context{core, env, 2, {}};
    SendQueue queue{context};
    Instant now{1};

    void SetUp() override {
        context.attributes.path_mtu_bytes = 256;
        queue.start(Psn(0xFF'FFF0));
    }
    void post(WrOpcode opcode, std::uint64_t length) { env.post(opcode, {}).length = length; }
};

TEST_F(Queue, LongestWriteOwns2To23PsnsAndCompletesOnce) {
    post(WrOpcode::Write, 1ULL << 31);
    post(WrOpcode::Send, 1);
    SendItem* item = queue.current(true);
    ASSERT_NE(item, nullptr);
    EXPECT_EQ(item->packets, 1U << 23);
    while (queue.current(false) == item) {
        queue.sent(now, *item, 1U << 10);
        EXPECT_TRUE(queue.acknowledge(now, queue.next()));
        EXPECT_EQ(queue.in_flight_bytes(), 0U);
    }
    EXPECT_EQ(env.completions.size(), 1U);
    item = queue.current(true);
    EXPECT_EQ(item->first, Psn(0xFF'FFF0) + (1U << 23));
    queue.sent(now, *item, 1);
    EXPECT_TRUE(queue.acknowledge(now, queue.next()));
    EXPECT_EQ(env.completions.size(), 2U);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(core.send_items.in_use(), 0U);
}

TEST_F(Queue, LongestReadIsAskedForInPartsThatStayInsideTheCircle) {
    core.config.qp_window_bytes = 1ULL << 40;  // no window, so that only the circle is the limit
    post(WrOpcode::Read, 1ULL << 31);
    SendItem* item = queue.current(true);
    EXPECT_EQ(queue.read_part(*item), 1U << 22);
    queue.sent(now, *item, 1U << 22);
    EXPECT_EQ(queue.reads_outstanding(), 1U);
    for (std::uint32_t i = 0; i < 1U << 22; ++i) queue.read_landed(now, 1);
    EXPECT_EQ(queue.reads_outstanding(), 0U);
    EXPECT_EQ(queue.reads_incomplete(), 1U);
    queue.sent(now, *item, 1U << 22);
    for (std::uint32_t i = 0; i < 1U << 22; ++i) queue.read_landed(now, 1);
    EXPECT_EQ(env.completions.size(), 1U);
    EXPECT_EQ(queue.reads_incomplete(), 0U);
}

TEST_F(Queue, RewindTakesEverythingOffTheWindows) {
    post(WrOpcode::Write, 1'000);
    post(WrOpcode::Read, 1'000);
    post(WrOpcode::Send, 10);
    for (const std::uint32_t count : {4U, 4U, 1U}) queue.sent(now, *queue.current(true), count);
    EXPECT_EQ(queue.in_flight_bytes(), 2'010U + 9 * kPacketOverheadBytes);
    EXPECT_EQ(core.port_window.in_flight_bytes(), queue.in_flight_bytes());
    EXPECT_TRUE(queue.acknowledge(now, queue.una() + 2));
    queue.rewind();
    EXPECT_EQ(queue.in_flight_bytes(), 0U);
    EXPECT_EQ(core.port_window.in_flight_bytes(), 0U);
    EXPECT_EQ(queue.reads_outstanding(), 0U);
    EXPECT_EQ(queue.next(), queue.una());
    EXPECT_EQ(queue.index(*queue.current(false)), 2U);
    EXPECT_EQ(queue.highest(), Psn(0xFF'FFF0) + 9);
}

TEST_F(Queue, AcknowledgementBeyondARewindMovesNextAlong) {
    for (int i = 0; i < 3; ++i) post(WrOpcode::Send, 600);
    for (int i = 0; i < 3; ++i) queue.sent(now, *queue.current(true), 3);
    queue.rewind();
    EXPECT_TRUE(queue.acknowledge(now, Psn(0xFF'FFF0) + 4));
    EXPECT_EQ(queue.next(), queue.una());
    EXPECT_EQ(queue.current(false)->wqe.index, 1U);
    EXPECT_EQ(queue.index(*queue.current(false)), 1U);
    EXPECT_TRUE(queue.acknowledge(now, Psn(0xFF'FFF0) + 9));
    EXPECT_EQ(queue.current(false), nullptr);
    EXPECT_EQ(env.completions.size(), 3U);
    EXPECT_EQ(queue.in_flight_bytes(), 0U);
}

TEST_F(Queue, AcknowledgementStopsAtARead) {
    post(WrOpcode::Send, 1);
    post(WrOpcode::Read, 1);
    post(WrOpcode::Send, 1);
    for (int i = 0; i < 3; ++i) queue.sent(now, *queue.current(true), 1);
    EXPECT_FALSE(queue.acknowledge(now, queue.next()));
    EXPECT_EQ(env.completions.size(), 1U);
    queue.read_landed(now, 1);
    EXPECT_TRUE(queue.acknowledge(now, queue.next()));
    EXPECT_EQ(env.completions.size(), 3U);
}

TEST_F(Queue, DestructionGivesTheWindowBack) {
    {
        SendQueue other(context);
        post(WrOpcode::Write, 1'000);
        other.sent(now, *other.current(true), 4);
        EXPECT_GT(core.port_window.in_flight_bytes(), 0U);
    }
    EXPECT_EQ(core.port_window.in_flight_bytes(), 0U);
    EXPECT_EQ(core.send_items.in_use(), 0U);
}

}  // namespace
}  // namespace vroce::nic::test
