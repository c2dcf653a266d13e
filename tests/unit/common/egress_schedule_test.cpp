#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/random.hpp"
#include "common/egress/egress.hpp"
#include "common/packet/slab_pool.hpp"

namespace vroce {
namespace {

constexpr std::uint64_t kSpeed = 10'000'000'000;
constexpr Instant kStart = Instant{} + seconds(1);
constexpr Duration kNoCredit{};

QueueSchedule dwrr(std::uint8_t weight) {
    return {.discipline = QueueDiscipline::kDwrr, .weight = weight};
}

QueueSchedule shaped(std::uint64_t max_rate_bps, std::uint32_t burst_bytes) {
    return {.max_rate_bps = max_rate_bps, .burst_bytes = burst_bytes};
}

/// Keeps chosen queues backlogged with frames of one size each and counts what leaves, in bytes on the line.
class EgressScheduleTest : public ::testing::Test {
protected:
    void start(const PortSchedule& schedule, std::uint64_t speed_bps = kSpeed) {
        egress.emplace(EgressConfig{speed_bps, 64 << 20, kNoCredit, milliseconds(1), schedule});
    }
    void add(unsigned queue, std::uint32_t bytes) {
        Packet* packet = pool.alloc();
        ASSERT_NE(packet, nullptr);
        packet->resize(bytes);
        ASSERT_TRUE(egress->enqueue(packet, queue));
    }
    void top_up() {
        for (unsigned q = 0; q < 8; ++q)
            while (frame_bytes[q] != 0 && egress->queue_bytes(q) < 4 * frame_bytes[q]) add(q, frame_bytes[q]);
    }
    /// From one deadline to the next until `end`.
    void run(Instant end) {
        for (top_up(); egress->next_deadline() < end; top_up()) {
            now = std::max(now, egress->next_deadline());
            Packet* packet = egress->dequeue(now);
            ASSERT_NE(packet, nullptr) << "a deadline that has come gives a packet";
            sent[egress->last_queue()] += packet->length + kLineOverheadBytes;
            sent_at.emplace_back(now, packet->length + kLineOverheadBytes);
            release(packet);
        }
        now = std::max(now, end);
    }
    std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t bytes : sent) sum += bytes;
        return sum;
    }
    void expect_share(unsigned queue, double share) {
        EXPECT_NEAR(static_cast<double>(sent[queue]) / static_cast<double>(total()), share, 0.02) << "queue " << queue;
    }

    SlabPool pool{1'024};
    std::optional<Egress> egress;
    std::array<std::uint32_t, 8> frame_bytes{};
    std::array<std::uint64_t, 8> sent{};
    std::vector<std::pair<Instant, std::uint32_t>> sent_at;
    Instant now = kStart;
};

TEST_F(EgressScheduleTest, SharesByBytesWhateverTheFrames) {
    PortSchedule schedule;
    schedule[1] = dwrr(1);
    schedule[2] = dwrr(1);
    schedule[3] = dwrr(2);
    start(schedule);
    frame_bytes = {0, 64, 1'500, 9'000};
    run(kStart + milliseconds(10));
    expect_share(1, 0.25);
    expect_share(2, 0.25);
    expect_share(3, 0.5);
    EXPECT_NEAR(static_cast<double>(total()), 10e9 / 800, 10'000) << "and the line is full";
}

TEST_F(EgressScheduleTest, SharesHoldForRandomWeightsAndFrames) {
    Random random(17);
    std::printf("seed 17\n");
    for (int round = 0; round < 20; ++round) {
        PortSchedule schedule;
        unsigned weights = 0;
        for (unsigned q = 0; q < 8; ++q) {
            schedule[q] = dwrr(static_cast<std::uint8_t>(1 + random.below(100)));
            frame_bytes[q] = static_cast<std::uint32_t>(60 + random.below(4'000));
            weights += schedule[q].weight;
        }
        now = kStart;
        sent = {};
        start(schedule);
        run(kStart + milliseconds(20));
        for (unsigned q = 0; q < 8; ++q) expect_share(q, static_cast<double>(schedule[q].weight) / weights);
    }
}

TEST_F(EgressScheduleTest, WeightsChangedAtRunTimeHoldFromThenOnAndLoseNothing) {
    PortSchedule schedule;
    schedule[3] = dwrr(15);
    schedule[4] = dwrr(15);
    start(schedule);
    frame_bytes = {0, 0, 0, 1'500, 64};
    run(kStart + milliseconds(5));
    expect_share(3, 0.5);
    const std::size_t queued = egress->backlog_packets();
    schedule[3].weight = 90;
    schedule[4].weight = 10;
    egress->set_schedule(schedule);
    EXPECT_EQ(egress->backlog_packets(), queued);
    sent = {};
    run(kStart + milliseconds(10));
    expect_share(3, 0.9);
    expect_share(4, 0.1);
}

TEST_F(EgressScheduleTest, AllClassesFinishTogetherWhenTheirPacketsAreAsTheirWeights) {
    PortSchedule schedule;
    for (unsigned q = 0; q < 8; ++q) schedule[q] = dwrr(q == 3 || q == 4 ? 15 : 14);
    start(schedule);
    std::array<int, 8> left{};
    for (unsigned q = 0; q < 8; ++q)
        for (left[q] = 0; left[q] < 8 * schedule[q].weight; ++left[q]) add(q, 1'000);
    std::size_t at = 0;
    const std::size_t count = egress->backlog_packets();
    while (Packet* packet = egress->dequeue(kStart + seconds(1) + microseconds(static_cast<std::int64_t>(at)))) {
        ++at;
        if (--left[egress->last_queue()] == 0) {
            EXPECT_GE(at, count - 16) << "queue " << egress->last_queue();
        }
        release(packet);
    }
    EXPECT_EQ(at, count);
}

TEST_F(EgressScheduleTest, StrictGoesBeforeWeightedAndTheHighestFirst) {
    PortSchedule schedule;
    schedule[7] = dwrr(100);
    start(schedule);
    for (const unsigned q : {7u, 0u, 7u, 3u, 0u, 3u}) add(q, 100);
    std::vector<unsigned> order;
    while (egress->next_deadline() != kNever) {
        now = std::max(now, egress->next_deadline());
        Packet* packet = egress->dequeue(now);
        ASSERT_NE(packet, nullptr);
        order.push_back(egress->last_queue());
        release(packet);
    }
    EXPECT_EQ(order, (std::vector<unsigned>{3, 3, 0, 0, 7, 7}));
}

TEST_F(EgressScheduleTest, AnUnusedShareGoesToTheOthersByTheirWeights) {
    PortSchedule schedule;
    schedule[1] = dwrr(10);
    schedule[2] = dwrr(30);
    schedule[3] = dwrr(60);
    start(schedule);
    frame_bytes = {0, 500, 1'500, 0};
    run(kStart + milliseconds(5));
    expect_share(1, 0.25);
    expect_share(2, 0.75);
    EXPECT_NEAR(static_cast<double>(total()), 5e9 / 800, 4'000);
}

TEST_F(EgressScheduleTest, ASparseClassGetsNoMoreThanItsShareAndNoCreditForItsSilence) {
    PortSchedule schedule;
    schedule[1] = dwrr(50);
    schedule[2] = dwrr(50);
    start(schedule);
    frame_bytes = {0, 1'000, 0};
    run(kStart + milliseconds(5));
    sent = {};
    frame_bytes[2] = 1'000;
    run(kStart + milliseconds(5) + microseconds(50));
    EXPECT_NEAR(static_cast<double>(sent[1]), static_cast<double>(sent[2]), 2 * 1'024);
}

TEST_F(EgressScheduleTest, APausedClassIsLeftOutAndComesBackWithoutCredit) {
    PortSchedule schedule;
    schedule[1] = dwrr(50);
    schedule[2] = dwrr(50);
    start(schedule);
    frame_bytes = {0, 1'000, 1'000};
    run(kStart + milliseconds(1));
    egress->set_paused(now, 1u << 2);
    sent = {};
    run(kStart + milliseconds(5));
    EXPECT_EQ(sent[2], 0u);
    EXPECT_NEAR(static_cast<double>(sent[1]), 4e9 / 800, 2'000) << "the other has the whole line";
    egress->set_paused(now, 0);
    sent = {};
    run(now + microseconds(50));
    EXPECT_NEAR(static_cast<double>(sent[1]), static_cast<double>(sent[2]), 2 * 1'024);
}

TEST_F(EgressScheduleTest, OthersThatComeDuringAPauseDoNotFindLineTimeToCatchUpOn) {
    start({});
    add(3, 1'000);
    egress->set_paused(now, 1u << 3);
    now += milliseconds(10);
    for (int i = 0; i < 10; ++i) add(0, 1'000);
    int count = 0;
    for (Packet* packet = egress->dequeue(now); packet != nullptr; packet = egress->dequeue(now), ++count)
        release(packet);
    EXPECT_EQ(count, 1);
}

void expect_rate(const std::vector<std::pair<Instant, std::uint32_t>>& sent_at, std::uint64_t rate_bps,
                 std::uint32_t burst_bytes, Instant end) {
    std::uint64_t all = 0;
    std::uint64_t in_window = 0;
    std::uint64_t most = 0;
    std::size_t first = 0;
    for (const auto& [at, bytes] : sent_at) {
        all += bytes;
        in_window += bytes;
        while (sent_at[first].first <= at - milliseconds(1)) in_window -= sent_at[first++].second;
        most = std::max(most, in_window);
    }
    EXPECT_LE(most, rate_bps / 8'000 + burst_bytes) << "in any millisecond: the rate and the bucket";
    const double nominal = static_cast<double>(rate_bps) / 8 * static_cast<double>((end - kStart).ps) * 1e-12;
    EXPECT_NEAR(static_cast<double>(all), nominal, nominal / 100);
}

TEST_F(EgressScheduleTest, AShaperKeepsItsRateAndTheRestGoesToTheOthers) {
    for (const std::uint64_t rate : {100'000'000ull, 777'777'777ull, 5'000'000'000ull}) {
        PortSchedule schedule;
        schedule[5] = shaped(rate, 2'000);
        start(schedule);
        now = kStart;
        sent = {};
        sent_at.clear();
        frame_bytes = {};
        frame_bytes[5] = 1'000;
        run(kStart + milliseconds(50));
        expect_rate(sent_at, rate, 2'000, now);
        const std::uint64_t alone = sent[5];
        sent = {};
        frame_bytes[0] = 700;
        run(kStart + milliseconds(100));
        EXPECT_NEAR(static_cast<double>(sent[5]), static_cast<double>(alone), static_cast<double>(alone) / 100);
        EXPECT_NEAR(static_cast<double>(total()), 50e9 / 800, 50e9 / 800 / 100) << "and the line is full";
    }
}

TEST_F(EgressScheduleTest, AShaperWithRandomFramesAndALateWorkerKeepsWithin95Percent) {
    constexpr std::uint64_t kRate = 1'000'000'000;
    Random random(23);
    std::printf("seed 23\n");
    PortSchedule schedule;
    schedule[5] = shaped(kRate, 16'384);
    start(schedule);
    const Instant end = kStart + milliseconds(50);
    while (now < end) {
        while (egress->queue_bytes(5) < 40'000) add(5, static_cast<std::uint32_t>(60 + random.below(4'000)));
        while (Packet* packet = egress->dequeue(now)) {
            sent_at.emplace_back(now, packet->length + kLineOverheadBytes);
            release(packet);
        }
        now += nanoseconds(static_cast<std::int64_t>(random.below(100'000)));
    }
    expect_rate(sent_at, kRate, 16'384, end);
}

TEST_F(EgressScheduleTest, AFrameBeyondTheBucketStillLeaves) {
    PortSchedule schedule;
    schedule[0] = shaped(1'000'000'000, 100);
    start(schedule);
    frame_bytes[0] = 9'000;
    run(kStart + milliseconds(20));
    EXPECT_NEAR(static_cast<double>(sent[0]), 20e9 / 8'000, 9'024);
}

TEST_F(EgressScheduleTest, AShaperStandsStillDuringAPause) {
    PortSchedule schedule;
    schedule[5] = shaped(1'000'000'000, 1'024);
    start(schedule);
    frame_bytes[5] = 1'000;
    run(kStart + microseconds(1));
    ASSERT_EQ(sent[5], 1'024u);
    egress->set_paused(now, 1u << 5);
    now += milliseconds(3);
    EXPECT_EQ(egress->next_deadline(), kNever);
    egress->set_paused(now, 0);
    EXPECT_EQ(egress->next_deadline(), kStart + nanoseconds(8'192) + milliseconds(3));
    EXPECT_EQ(egress->dequeue(now), nullptr);
}

TEST_F(EgressScheduleTest, AnotherRateHoldsAtOnce) {
    PortSchedule schedule;
    schedule[5] = shaped(1'000, 0);
    start(schedule);
    frame_bytes[5] = 1'000;
    run(kStart + milliseconds(1));
    ASSERT_EQ(sent[5], 1'024u);
    schedule[5] = shaped(1'000'000'000, 0);
    egress->set_schedule(schedule);
    sent = {};
    run(now + milliseconds(10));
    EXPECT_NEAR(static_cast<double>(sent[5]), 10e9 / 8'000, 2'048);
    schedule[5] = {};
    egress->set_schedule(schedule);
    sent = {};
    run(now + milliseconds(1));
    EXPECT_NEAR(static_cast<double>(sent[5]), 1e9 / 800, 2'048);
}

TEST_F(EgressScheduleTest, IsExactOverLongTimesAtASpeedWithAFraction) {
    start({}, 7'000'000'000);
    frame_bytes[0] = 61;
    constexpr int kFrames = 700'000;
    for (int i = 0; i < kFrames; ++i) {
        top_up();
        now = std::max(now, egress->next_deadline());
        release(egress->dequeue(now));
    }
    // 85 bytes take 97,142.857... ps; without the fraction the last would be 600 ns early.
    const std::int64_t expected = std::int64_t{kFrames} * 85 * 8'000 / 7;
    EXPECT_NEAR(static_cast<double>((egress->next_deadline() - kStart).ps), static_cast<double>(expected), 1);
}

TEST_F(EgressScheduleTest, ADeadlineThatHasComeAlwaysGivesAPacket) {
    const char* given = std::getenv("VROCE_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : 29;
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    Random random(seed);
    for (int round = 0; round < 50; ++round) {
        PortSchedule schedule;
        for (QueueSchedule& queue : schedule) {
            if (random.chance(0.5)) queue = dwrr(static_cast<std::uint8_t>(1 + random.below(100)));
            if (random.chance(0.5)) queue.max_rate_bps = 1'000'000 + random.below(20'000'000'000);
            queue.burst_bytes = static_cast<std::uint32_t>(random.below(20'000));
        }
        start(schedule, random.chance(0.2) ? 0 : kSpeed);
        for (int step = 0; step < 2'000; ++step) {
            now += nanoseconds(static_cast<std::int64_t>(random.below(4'000)));
            if (random.chance(0.1)) egress->set_paused(now, static_cast<std::uint8_t>(random.next_u64()));
            if (egress->backlog_packets() < 500)
                add(static_cast<unsigned>(random.below(8)), static_cast<std::uint32_t>(60 + random.below(1'500)));
            const bool due = egress->next_deadline() <= now;
            Packet* packet = egress->dequeue(now);
            ASSERT_EQ(packet != nullptr, due) << "round " << round << " step " << step;
            if (packet == nullptr) continue;
            ASSERT_EQ(egress->paused_mask() >> egress->last_queue() & 1, 0);
            release(packet);
        }
    }
}

TEST_F(EgressScheduleTest, CountsForEachQueue) {
    egress.emplace(EgressConfig{kSpeed, 2'000, kNoCredit, kNoCredit});
    add(3, 1'000);
    add(3, 500);
    add(4, 100);
    Packet* refused = pool.alloc();
    refused->resize(401);
    EXPECT_FALSE(egress->enqueue(refused, 4));
    release(refused);
    EXPECT_EQ(egress->queue_bytes(3), 1'500u);
    EXPECT_EQ(egress->queue_bytes(4), 100u);
    for (int i = 0; i < 3; ++i) release(egress->dequeue(kStart + microseconds(i)));
    EXPECT_EQ(egress->queue_counters(3).packets, 2u);
    EXPECT_EQ(egress->queue_counters(3).bytes, 1'500u);
    EXPECT_EQ(egress->queue_counters(3).backlog_bytes_max, 1'500u);
    EXPECT_EQ(egress->queue_counters(4).refused, 1u);
    EXPECT_EQ(egress->queue_counters(4).packets, 1u);
    EXPECT_EQ(egress->queue_bytes(3), 0u);
}

TEST_F(EgressScheduleTest, MeasuresHowLongPacketsWaited) {
    start({}, 0);
    for (const std::int64_t ns : {0, 1, 3, 1'000}) {
        Packet* packet = pool.alloc();
        packet->resize(100);
        packet->meta.time = kStart - nanoseconds(ns);
        ASSERT_TRUE(egress->enqueue(packet, 2));
    }
    add(2, 100);
    while (Packet* packet = egress->dequeue(kStart)) release(packet);
    const TimeHistogram& delay = egress->queue_counters(2).delay;
    EXPECT_EQ(delay.counts[0], 1u);
    EXPECT_EQ(delay.counts[1], 1u);
    EXPECT_EQ(delay.counts[2], 1u);
    EXPECT_EQ(delay.counts[10], 1u);
    std::uint64_t all = 0;
    for (const std::uint64_t packets : delay.counts) all += packets;
    EXPECT_EQ(all, 4u) << "the one without a time of arrival is not in it";
}

}  // namespace
}  // namespace vroce
