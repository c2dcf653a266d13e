#include "common/egress/port_tx.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "common/packet/slab_pool.hpp"

namespace vroce {
namespace {

/// A port whose ring has room for so many frames.
class RingPort final : public Port {
public:
    std::size_t receive(std::span<Packet*>) override { return 0; }
    std::size_t send(std::span<Packet* const> packets) override {
        std::size_t took = 0;
        for (Packet* packet : packets) {
            if (room == 0) break;
            --room;
            ++took;
            lengths.push_back(packet->length);
            release(packet);
        }
        return took;
    }
    bool link_up() const override { return up; }
    void ring_doorbell() override { ++doorbells; }

    std::size_t room = 1'000;
    bool up = true;
    int doorbells = 0;
    std::vector<std::uint32_t> lengths;
};

class PortTxTest : public ::testing::Test {
protected:
    void enqueue(std::uint32_t first, int count) {
        for (int i = 0; i < count; ++i) {
            Packet* packet = pool.alloc();
            packet->resize(first + static_cast<std::uint32_t>(i));
            ASSERT_TRUE(tx.enqueue(packet, 0));
        }
    }
    SlabPool pool{256};
    RingPort port;
    PortTx tx{{0, 1 << 20}, port, pool};
};

TEST_F(PortTxTest, AFullRingHoldsInOrderAndDropsNothing) {
    enqueue(100, 40);
    port.room = 10;
    EXPECT_EQ(tx.flush(Instant{}), 10u);
    EXPECT_EQ(tx.counters().tx_ring_full, 1u);
    EXPECT_GT(tx.next_deadline(), Instant{});
    EXPECT_NE(tx.next_deadline(), kNever) << "what is held is tried again";
    port.room = 1'000;
    EXPECT_EQ(tx.flush(Instant{} + microseconds(20)), 30u);
    ASSERT_EQ(port.lengths.size(), 40u);
    for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(port.lengths[i], 100 + i);
    EXPECT_EQ(tx.counters().tx_packets, 40u);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(PortTxTest, RingsOnceForABurst) {
    enqueue(100, 5);
    static_cast<void>(tx.flush(Instant{}));
    EXPECT_EQ(port.doorbells, 1);
    static_cast<void>(tx.flush(Instant{}));
    EXPECT_EQ(port.doorbells, 1) << "nothing sent, nobody woken";
}

TEST_F(PortTxTest, WithoutAPeerFramesAreLostAndCounted) {
    enqueue(100, 3);
    port.up = false;
    EXPECT_EQ(tx.flush(Instant{}), 0u);
    EXPECT_EQ(tx.counters().link_down, 3u);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(PortTxTest, ATapSeesEachFrameOnceEvenWhenTheRingIsFull) {
    int seen = 0;
    tx.set_tap([](void* context, const Packet&) { ++*static_cast<int*>(context); }, &seen);
    enqueue(100, 20);
    port.room = 5;
    static_cast<void>(tx.flush(Instant{}));
    port.room = 1'000;
    static_cast<void>(tx.flush(Instant{} + microseconds(20)));
    EXPECT_EQ(seen, 20);
}

TEST_F(PortTxTest, AFullRingHoldsBackTheEgressQueuesAlsoBehindABadLink) {
    FaultSettings faults;
    faults.duplicate = 1e-9;
    tx.fault().set(faults);
    enqueue(100, 100);
    port.room = 0;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(tx.flush(Instant{}), 0u);
    EXPECT_EQ(tx.egress().backlog_packets(), 100u - PortTx::kBurst) << "the rest waits where it is bounded and counted";
    port.room = 1'000;
    EXPECT_EQ(tx.flush(Instant{} + microseconds(20)), 100u);
    for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(port.lengths[i], 100 + i);
}

TEST_F(PortTxTest, FaultsStandBetweenTheEgressAndThePort) {
    FaultSettings faults;
    faults.drop = 1;
    tx.fault().set(faults);
    enqueue(100, 7);
    EXPECT_EQ(tx.flush(Instant{}), 0u);
    EXPECT_EQ(tx.fault().counters()[FaultEvent::Dropped], 7u);
    EXPECT_EQ(pool.in_use(), 0u);
}

}  // namespace
}  // namespace vroce
