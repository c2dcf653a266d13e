#include "common/egress/egress.hpp"

#include <gtest/gtest.h>

#include "common/base/random.hpp"
#include "common/packet/slab_pool.hpp"

namespace vroce {
namespace {

constexpr std::uint64_t kSpeed = 10'000'000'000;
constexpr std::int64_t kPsPerByte = 800;

Packet* frame(SlabPool& pool, std::uint32_t bytes) {
    Packet* packet = pool.alloc();
    packet->resize(bytes);
    return packet;
}

TEST(Egress, SpacesFramesByTheirTimeOnTheLine) {
    SlabPool pool(8);
    Egress egress({kSpeed, 1 << 20, picoseconds(0), picoseconds(0)});
    const Instant start = Instant{} + seconds(1);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(egress.enqueue(frame(pool, 1'000), 0));
    Instant now = start;
    for (int i = 0; i < 3; ++i) {
        Packet* packet = egress.dequeue(now);
        ASSERT_NE(packet, nullptr) << i;
        release(packet);
        EXPECT_EQ(egress.dequeue(now + picoseconds((1'000 + 24) * kPsPerByte - 1)), nullptr) << i;
        now += picoseconds((1'000 + 24) * kPsPerByte);
    }
    EXPECT_EQ(egress.next_deadline(), kNever);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(Egress, NeverExceedsTheSpeedOverAMillisecondWhateverTheArrivals) {
    SlabPool pool(4'096);
    Egress egress({kSpeed, 64 << 20});
    Random random(11);
    Instant now = Instant{} + seconds(1);
    const Instant end = now + milliseconds(1);
    std::uint64_t line_bytes = 0;
    while (now < end) {
        while (pool.in_use() < 512)
            ASSERT_TRUE(egress.enqueue(frame(pool, static_cast<std::uint32_t>(60 + random.below(4'000))), 0));
        while (Packet* packet = egress.dequeue(now)) {
            line_bytes += packet->length + 24;
            release(packet);
        }
        now += nanoseconds(static_cast<std::int64_t>(random.below(3'000)));
    }
    // One frame may have begun just before the end, and the idle credit is at most 50 us of line time.
    EXPECT_LE(line_bytes, (1'000'000'000 + 50'000'000) / kPsPerByte + 4'084);
    EXPECT_GE(line_bytes, 950'000'000 / kPsPerByte) << "and keeps 95 % of it";
}

TEST(Egress, CatchesUpOnAGapOfItsWorkerWhileBacklogged) {
    SlabPool pool(4'096);
    Egress egress({kSpeed, 64 << 20});
    for (int i = 0; i < 2'000; ++i) ASSERT_TRUE(egress.enqueue(frame(pool, 1'000), 0));
    const Instant start = Instant{} + seconds(1);
    const auto drain = [&](Instant now) {
        int count = 0;
        for (Packet* packet = egress.dequeue(now); packet != nullptr; packet = egress.dequeue(now), ++count)
            release(packet);
        return count;
    };
    drain(start);
    const int after_gap = drain(start + microseconds(500));
    EXPECT_NEAR(after_gap, 500'000'000 / ((1'000 + 24) * kPsPerByte), 2);
}

TEST(Egress, RefusesBeyondItsLimitAndCountsIt) {
    SlabPool pool(8);
    Egress egress({kSpeed, 2'000});
    ASSERT_TRUE(egress.enqueue(frame(pool, 1'500), 0));
    Packet* refused = frame(pool, 501);
    EXPECT_FALSE(egress.enqueue(refused, 0));
    release(refused);
    EXPECT_EQ(egress.counters().refused, 1u);
    EXPECT_EQ(egress.backlog_bytes(), 1'500u);
}

TEST(Egress, WithoutASpeedNothingIsHeldBack) {
    SlabPool pool(64);
    Egress egress({0, 1 << 20});
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(egress.enqueue(frame(pool, 1'000), 0));
    for (int i = 0; i < 64; ++i) {
        Packet* packet = egress.dequeue(Instant{});
        ASSERT_NE(packet, nullptr);
        release(packet);
    }
}

TEST(Egress, APausedQueueHoldsAndTheOthersGoOn) {
    SlabPool pool(8);
    Egress egress({kSpeed, 1 << 20, picoseconds(0), picoseconds(0)});
    const Instant start = Instant{} + seconds(1);
    ASSERT_TRUE(egress.enqueue(frame(pool, 103), 3));
    ASSERT_TRUE(egress.enqueue(frame(pool, 100), 0));
    egress.set_paused(start, 1u << 3);
    Packet* packet = egress.dequeue(start);
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->length, 100u);
    release(packet);
    EXPECT_EQ(egress.dequeue(start + milliseconds(1)), nullptr);
    EXPECT_EQ(egress.next_deadline(), kNever) << "a paused queue has no deadline: it is resumed";
    EXPECT_EQ(egress.backlog_packets(), 1u);
    egress.set_paused(start + milliseconds(2), 0);
    packet = egress.dequeue(start + milliseconds(2));
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->length, 103u);
    release(packet);
}

TEST(Egress, ResumesWithoutCreditForTheTimeOfThePause) {
    SlabPool pool(64);
    Egress egress({kSpeed, 1 << 20});
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(egress.enqueue(frame(pool, 1'000), 3));
    const Instant start = Instant{} + seconds(1);
    egress.set_paused(start, 0xFF);
    const Instant resumed = start + milliseconds(10);
    egress.set_paused(resumed, 0);
    int count = 0;
    while (Packet* packet = egress.dequeue(resumed)) {
        ++count;
        release(packet);
    }
    EXPECT_EQ(count, 1);
}

TEST(Egress, GivesBackWhatItHoldsAtItsEnd) {
    SlabPool pool(8);
    {
        Egress egress({kSpeed, 1 << 20});
        egress.set_paused(Instant{}, 0xFF);
        ASSERT_TRUE(egress.enqueue(frame(pool, 100), 3));
    }
    EXPECT_EQ(pool.in_use(), 0u);
}

}  // namespace
}  // namespace vroce
