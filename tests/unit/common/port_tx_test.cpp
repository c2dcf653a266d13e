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

struct Departure {
    std::uint32_t length;
    unsigned queue;
    std::uint64_t depth_bytes;
    Instant now;
    bool operator==(const Departure&) const = default;
};

void record(void* context, std::span<const Departed> departed, Instant now) {
    for (const auto& [packet, depth_bytes, queue] : departed)
        static_cast<std::vector<Departure>*>(context)->push_back({packet->length, queue, depth_bytes, now});
}

class PortTxHookTest : public PortTxTest {
protected:
    PortTxHookTest() { tx.set_departure_hook(record, &departures); }
    ~PortTxHookTest() override { tx.set_departure_hook(nullptr, nullptr); }
    std::vector<Departure> departures;
};

TEST_F(PortTxHookTest, TheHookSeesEachPacketWithTheDepthThatItLeaves) {
    enqueue(100, 2);
    Packet* urgent = pool.alloc();
    urgent->resize(60);
    ASSERT_TRUE(tx.enqueue(urgent, 5));
    const Instant now = Instant{} + microseconds(7);
    EXPECT_EQ(tx.flush(now), 3u);
    const std::vector<Departure> expected{{60, 5, 0, now}, {100, 0, 101, now}, {101, 0, 0, now}};
    EXPECT_EQ(departures, expected);
}

TEST_F(PortTxHookTest, TheHookSeesWhatIsLostWithoutAPeerAndWhatIsDiscarded) {
    enqueue(100, 2);
    port.up = false;
    EXPECT_EQ(tx.flush(Instant{}), 0u);
    EXPECT_EQ(departures.size(), 2u);
    port.up = true;
    enqueue(100, 3);
    tx.egress().set_paused(Instant{}, 0xFF);
    EXPECT_EQ(tx.flush(Instant{}), 0u);
    tx.discard(Instant{});
    EXPECT_EQ(departures.size(), 5u);
    EXPECT_EQ(departures.back().depth_bytes, 0u);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(PortTxTest, TheHookSeesWhatIsLeftAtTheEnd) {
    std::vector<Departure> departures;
    {
        PortTx short_lived({0, 1 << 20}, port, pool);
        short_lived.set_departure_hook(record, &departures);
        Packet* packet = pool.alloc();
        packet->resize(80);
        ASSERT_TRUE(short_lived.enqueue(packet, 2));
    }
    ASSERT_EQ(departures.size(), 1u);
    EXPECT_EQ(departures[0].queue, 2u);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(PortTxHookTest, TheHookSeesOncePacketsThatGoThroughABadLink) {
    FaultSettings faults;
    faults.duplicate = 1;
    tx.fault().set(faults);
    enqueue(100, 5);
    EXPECT_EQ(tx.flush(Instant{}), 10u);
    EXPECT_EQ(departures.size(), 5u);
}

class PortTxControlTest : public PortTxTest {
protected:
    Packet* control(std::uint32_t bytes = 60) {
        Packet* packet = pool.alloc();
        packet->resize(bytes);
        return packet;
    }
};

TEST_F(PortTxControlTest, ControlOvertakesWhatIsStagedAndWhatIsQueued) {
    enqueue(100, 40);
    port.room = 3;
    EXPECT_EQ(tx.flush(Instant{}), 3u);
    tx.send_control(control());
    EXPECT_LE(tx.next_deadline(), Instant{}) << "it does not wait for the retry of the others";
    port.room = 1'000;
    EXPECT_EQ(tx.flush(Instant{}), 38u);
    ASSERT_EQ(port.lengths.size(), 41u);
    EXPECT_EQ(port.lengths[3], 60u);
    EXPECT_EQ(port.lengths[4], 103u);
    EXPECT_EQ(tx.counters().control_packets, 1u);
    EXPECT_EQ(tx.counters().tx_packets, 41u);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(PortTxControlTest, ControlIsNeitherPausedNorLimitedNorPacedButTakesLineTime) {
    constexpr std::uint64_t kSpeed = 10'000'000'000;
    PortTx paced({kSpeed, 100, picoseconds(0), picoseconds(0)}, port, pool);
    const Instant now = Instant{} + seconds(1);
    paced.egress().set_paused(now, 0xFE);
    Packet* data = control(100);
    ASSERT_TRUE(paced.enqueue(data, 0));
    EXPECT_EQ(paced.flush(now), 1u);
    EXPECT_EQ(paced.next_deadline(), kNever);
    data = control(100);
    ASSERT_TRUE(paced.enqueue(data, 0));
    paced.send_control(control());
    EXPECT_EQ(paced.flush(now), 1u) << "although the line is busy with the first";
    EXPECT_EQ(port.lengths.back(), 60u);
    const Instant free = now + picoseconds((124 + 84) * 800);
    EXPECT_EQ(paced.next_deadline(), free);
    EXPECT_EQ(paced.flush(free - picoseconds(1)), 0u);
    EXPECT_EQ(paced.flush(free), 1u);
}

TEST_F(PortTxControlTest, WithoutAPeerControlIsDropped) {
    tx.send_control(control());
    port.up = false;
    tx.send_control(control());
    EXPECT_EQ(tx.flush(Instant{}), 0u);
    EXPECT_EQ(tx.counters().control_dropped, 2u);
    EXPECT_EQ(tx.counters().link_down, 0u);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(PortTxControlTest, ARingThatTakesNothingHoldsTheNewestControlFrames) {
    port.room = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
        tx.send_control(control(60 + i));
        EXPECT_EQ(tx.flush(Instant{}), 0u);
        EXPECT_GT(tx.next_deadline(), Instant{}) << "a full ring is not polled without end";
    }
    EXPECT_EQ(tx.counters().control_dropped, 20 - PortTx::kControlMax);
    port.room = 1'000;
    EXPECT_EQ(tx.flush(Instant{}), PortTx::kControlMax);
    EXPECT_EQ(port.lengths.front(), 64u);
    EXPECT_EQ(port.lengths.back(), 79u);
}

TEST_F(PortTxControlTest, TheTapSeesControlOnce) {
    std::vector<std::uint32_t> seen;
    tx.set_tap(
        [](void* context, const Packet& packet) {
            static_cast<std::vector<std::uint32_t>*>(context)->push_back(packet.length);
        },
        &seen);
    port.room = 0;
    tx.send_control(control());
    static_cast<void>(tx.flush(Instant{}));
    port.room = 5;
    static_cast<void>(tx.flush(Instant{}));
    EXPECT_EQ(seen, std::vector<std::uint32_t>{60});
}

TEST_F(PortTxControlTest, ABadLinkMayLoseControl) {
    FaultSettings faults;
    faults.drop = 1;
    tx.fault().set(faults);
    tx.send_control(control());
    EXPECT_EQ(tx.flush(Instant{}), 0u);
    EXPECT_EQ(tx.fault().counters()[FaultEvent::Dropped], 1u);
    EXPECT_EQ(tx.counters().control_packets, 1u);
}

}  // namespace
}  // namespace vroce
