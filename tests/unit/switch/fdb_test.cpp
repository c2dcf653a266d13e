// The forwarding database on a virtual clock: learning, moves, ageing, limits, deletion.
#include "switch/l2/fdb.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace vroce::sw {
namespace {

constexpr Mac kMac = 0x0200'0000'0001;
constexpr Instant kStart{1'000'000'000'000};

TEST(Fdb, KnowsNobodyAtFirst) {
    const Fdb fdb(1);
    EXPECT_EQ(fdb.lookup(kStart, 1, kMac), Fdb::kUnknown);
    EXPECT_EQ(fdb.next_deadline(), kNever);
}

TEST(Fdb, FindsWhatItHasLearnt) {
    Fdb fdb(1);
    EXPECT_EQ(fdb.learn(kStart, 1, kMac, 3), Fdb::Learnt::kNew);
    EXPECT_EQ(fdb.learn(kStart, 1, kMac, 3), Fdb::Learnt::kKnown);
    EXPECT_EQ(fdb.lookup(kStart, 1, kMac), 3);
    EXPECT_EQ(fdb.size(), 1u);
}

TEST(Fdb, KeepsVlansApart) {
    Fdb fdb(1);
    static_cast<void>(fdb.learn(kStart, 1, kMac, 3));
    EXPECT_EQ(fdb.lookup(kStart, 2, kMac), Fdb::kUnknown);
    EXPECT_EQ(fdb.learn(kStart, 2, kMac, 4), Fdb::Learnt::kNew);
    EXPECT_EQ(fdb.lookup(kStart, 1, kMac), 3);
    EXPECT_EQ(fdb.lookup(kStart, 2, kMac), 4);
}

TEST(Fdb, FollowsAStationThatMoves) {
    Fdb fdb(1);
    static_cast<void>(fdb.learn(kStart, 1, kMac, 3));
    EXPECT_EQ(fdb.learn(kStart, 1, kMac, 5), Fdb::Learnt::kMoved);
    EXPECT_EQ(fdb.lookup(kStart, 1, kMac), 5);
    EXPECT_EQ(fdb.size(3), 0u);
    EXPECT_EQ(fdb.size(5), 1u);
    EXPECT_EQ(fdb.counters().moved, 1u);
}

TEST(Fdb, ForgetsAfterTheAgeingTimeAndNotBefore) {
    Fdb fdb(1, seconds(300));
    static_cast<void>(fdb.learn(kStart, 1, kMac, 3));
    EXPECT_EQ(fdb.lookup(kStart + seconds(299), 1, kMac), 3);
    EXPECT_EQ(fdb.lookup(kStart + seconds(301), 1, kMac), Fdb::kUnknown);
}

TEST(Fdb, ARefreshStartsTheAgeingTimeAnew) {
    Fdb fdb(1, seconds(300));
    static_cast<void>(fdb.learn(kStart, 1, kMac, 3));
    static_cast<void>(fdb.learn(kStart + seconds(200), 1, kMac, 3));
    EXPECT_EQ(fdb.lookup(kStart + seconds(450), 1, kMac), 3);
}

TEST(Fdb, AgeingZeroIsNever) {
    Fdb fdb(1, Duration{0});
    static_cast<void>(fdb.learn(kStart, 1, kMac, 3));
    EXPECT_EQ(fdb.lookup(kStart + seconds(1'000'000), 1, kMac), 3);
    EXPECT_EQ(fdb.next_deadline(), kNever);
}

TEST(Fdb, SweepsAgedEntriesAwayThenHasNoDeadline) {
    Fdb fdb(1, seconds(300));
    for (Mac i = 0; i < 500; ++i) static_cast<void>(fdb.learn(kStart, 1, kMac + i, 3));
    Instant now = kStart;
    while (fdb.next_deadline() != kNever) {
        ASSERT_GT(fdb.next_deadline(), now) << "a deadline that has passed would spin";
        now = fdb.next_deadline();
        fdb.age(now);
        ASSERT_LT(now, kStart + seconds(400));
    }
    EXPECT_GE(now, kStart + seconds(300));
    EXPECT_EQ(fdb.size(), 0u);
    EXPECT_EQ(fdb.counters().aged, 500u);
}

TEST(Fdb, LeavesRoomForOtherPortsWhenOneFloodsIt) {
    Fdb fdb(1);
    std::size_t learnt = 0;
    for (Mac i = 0; i < 3 * Fdb::kCapacity; ++i) {
        if (fdb.learn(kStart, 1, kMac + i, 0) == Fdb::Learnt::kNew) ++learnt;
    }
    EXPECT_EQ(learnt, Fdb::kShared + Fdb::kGuaranteed);
    EXPECT_EQ(fdb.counters().full, 3 * Fdb::kCapacity - learnt);
    for (Mac i = 0; i < Fdb::kGuaranteed; ++i) {
        EXPECT_EQ(fdb.learn(kStart, 2, kMac + i, 1), Fdb::Learnt::kNew);
    }
    EXPECT_EQ(fdb.learn(kStart, 2, kMac + Fdb::kGuaranteed, 1), Fdb::Learnt::kFull);
}

TEST(Fdb, AMoveToAFullPortForgetsTheStation) {
    Fdb fdb(1);
    for (Mac i = 0; i < Fdb::kCapacity; ++i) static_cast<void>(fdb.learn(kStart, 1, kMac + i, 0));
    static_cast<void>(fdb.learn(kStart, 2, kMac, 1));
    EXPECT_EQ(fdb.learn(kStart, 2, kMac, 0), Fdb::Learnt::kFull);
    EXPECT_EQ(fdb.lookup(kStart, 2, kMac), Fdb::kUnknown);
    EXPECT_EQ(fdb.size(1), 0u);
}

TEST(Fdb, FlushesOnePort) {
    Fdb fdb(1);
    for (Mac i = 0; i < 200; ++i) static_cast<void>(fdb.learn(kStart, 1, kMac + i, static_cast<PortId>(i % 2)));
    fdb.flush_port(0);
    EXPECT_EQ(fdb.size(), 100u);
    for (Mac i = 0; i < 200; ++i) EXPECT_EQ(fdb.lookup(kStart, 1, kMac + i), i % 2 == 0 ? Fdb::kUnknown : 1);
    fdb.flush();
    EXPECT_EQ(fdb.size(), 0u);
    EXPECT_EQ(fdb.next_deadline(), kNever);
}

TEST(Fdb, ListsWhatLives) {
    Fdb fdb(1, seconds(300));
    static_cast<void>(fdb.learn(kStart, 7, kMac, 3));
    static_cast<void>(fdb.learn(kStart + seconds(200), 8, kMac + 1, 4));
    const std::vector<Fdb::Entry> entries = fdb.entries(kStart + seconds(350));
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].mac, kMac + 1);
    EXPECT_EQ(entries[0].vlan, 8);
    EXPECT_EQ(entries[0].port, 4);
    EXPECT_NEAR(static_cast<double>(entries[0].age.ps) / 1e12, 150.0, 0.01);
}

/// Deletion must not cut a chain of probes: compare with an ordinary map over many random operations.
TEST(Fdb, AgreesWithAMapOverRandomOperations) {
    Fdb fdb(42, seconds(10));
    struct Known {
        PortId port;
        Instant seen;
    };
    std::map<Mac, Known> model;
    std::mt19937_64 random(7);
    Instant now = kStart;
    for (int step = 0; step < 50'000; ++step) {
        now += milliseconds(1);
        const Mac mac = kMac + random() % 6'000;
        const auto port = static_cast<PortId>(random() % 8);
        ASSERT_NE(fdb.learn(now, 1, mac, port), Fdb::Learnt::kFull);
        model[mac] = {port, now};
        fdb.age(now);
        if (step % 9'973 == 0) {
            fdb.flush_port(0);
            for (auto it = model.begin(); it != model.end();)
                it = it->second.port == 0 ? model.erase(it) : std::next(it);
        }
        const Mac asked = kMac + random() % 6'000;
        const auto it = model.find(asked);
        const PortId got = fdb.lookup(now, 1, asked);
        if (it == model.end() || now - it->second.seen > seconds(10) + milliseconds(2)) {
            ASSERT_EQ(got, Fdb::kUnknown);
        } else if (now - it->second.seen < seconds(10) - milliseconds(2)) {
            ASSERT_EQ(got, it->second.port) << "step " << step;
        }
    }
}

}  // namespace
}  // namespace vroce::sw
