// What PFC promises, on the virtual clock: no loss in the lossless class while peers obey, at full rate, and each such
// result with its control, the same run with PFC off, which loses.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/sim/kit/star.hpp"

namespace vroce::sim {
namespace {

using sw::DropReason;

const std::vector<std::uint32_t> kMixedSizes{64, 65, 128, 594, 1'082, 1'518, 4'096, 9'018};

Flow to(std::size_t station, std::uint8_t priority, std::vector<std::uint32_t> sizes = kMixedSizes) {
    Flow flow;
    flow.destination = Star::mac(station);
    flow.priority = priority;
    flow.frame_bytes = std::move(sizes);
    return flow;
}

/// Everybody sends to station 0 for `time`; then all that was sent is let through.
struct Incast {
    std::vector<std::uint64_t> flows;

    Incast(Star& star, std::size_t senders, Duration time, std::uint8_t priority = kLossless) {
        for (std::size_t i = 1; i <= senders; ++i) flows.push_back(star.station(i).add(to(0, priority)));
        star.world.run_for(time);
        received_bytes = star.station(0).arrivals().bytes;
        for (std::size_t i = 1; i <= senders; ++i) star.station(i).stop_flows();
        star.world.run_for(milliseconds(50));
        for (std::size_t i = 0; i < senders; ++i) {
            sent += star.station(i + 1).sent(flows[i]);
            arrived += star.station(0).arrivals(flows[i]).packets;
        }
    }
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    std::uint64_t received_bytes = 0;
};

void print(Star& star, std::size_t ports, const char* name) {
    std::uint64_t xoff = 0;
    std::uint64_t headroom_max = 0;
    Duration paused{};
    for (std::size_t p = 0; p < ports; ++p) {
        const auto port = static_cast<sw::PortId>(p);
        xoff += star.xoff_frames(p, kLossless);
        headroom_max = std::max(headroom_max, star.core().buffers().group(port, kLossless).headroom_bytes_max);
        paused = paused + star.core().flow_control(port).sender().asked_time(star.world.now(), kLossless);
    }
    std::cout << name << ": " << star.drops() << " drops, " << xoff << " XOFF, headroom watermark " << headroom_max
              << " bytes, paused " << paused.ps / 1'000'000 << " us\n";
}

class IncastTest : public ::testing::TestWithParam<std::size_t> {};

TEST_P(IncastTest, LosesNothingAndKeepsTheLineFullAndDoesLoseWithoutPfc) {
    const std::size_t senders = GetParam();
    StarConfig config;
    config.stations = senders + 1;
    config.pool_bytes = 100'000 * senders;
    config.seed = 7;
    {
        Star star(config);
        const Incast run(star, senders, milliseconds(5));
        print(star, senders + 1, "PFC on");
        EXPECT_EQ(run.arrived, run.sent);
        EXPECT_EQ(star.drops(DropReason::kHeadroomFull) + star.drops(DropReason::kGroupFull), 0u);
        EXPECT_EQ(star.station(0).arrivals().missing, 0u);
        for (std::size_t p = 1; p <= senders; ++p) {
            EXPECT_GT(star.xoff_frames(p, kLossless), 0u) << "port " << p;
            EXPECT_LE(star.core().buffers().group(static_cast<sw::PortId>(p), kLossless).headroom_bytes_max,
                      star.headroom_bytes(p));
        }
        EXPECT_GT(run.received_bytes * 8, 10'000'000u * 5 * 95 / 100) << "of 5 ms at 10 Gb/s";
    }
    config.pfc = false;
    Star control(config);
    const Incast run(control, senders, milliseconds(5));
    print(control, senders + 1, "PFC off");
    EXPECT_LT(run.arrived, run.sent);
    EXPECT_EQ(control.drops(DropReason::kGroupFull), run.sent - run.arrived);
}

INSTANTIATE_TEST_SUITE_P(Senders, IncastTest, ::testing::Values(2, 8, 32));

TEST(Lossless, MixedSpeedsAndALongCable) {
    StarConfig config;
    config.speed_bps = {10'000'000'000, 100'000'000'000, 25'000'000'000, 1'000'000'000};
    config.stations = 4;
    config.cable_m = 300;
    config.pool_bytes = 200'000;
    Star star(config);
    const Incast run(star, 3, milliseconds(5));
    print(star, 4, "100G, 25G and 1G into 10G over 300 m");
    EXPECT_EQ(run.arrived, run.sent);
    EXPECT_EQ(star.drops(DropReason::kHeadroomFull), 0u);
    EXPECT_GT(star.core().buffers().group(1, kLossless).headroom_bytes_max, 0u);
}

TEST(Lossless, APeerThatDoesNotObeyLosesAndIsNamed) {
    StarConfig config;
    config.obeys = false;
    config.pool_bytes = 200'000;
    Star star(config);
    const Incast run(star, 2, milliseconds(5));
    EXPECT_EQ(star.drops(DropReason::kHeadroomFull), run.sent - run.arrived);
    EXPECT_GT(run.sent, run.arrived);
    EXPECT_EQ(star.drops(DropReason::kGroupFull), 0u);
}

TEST(Lossless, AStalledReceiverStopsItsSendersAndNothingIsLost) {
    StarConfig config;
    config.pool_bytes = 300'000;
    Star star(config);
    star.station(0).block(1u << kLossless);
    const std::uint64_t a = star.station(1).add(to(0, kLossless));
    const std::uint64_t b = star.station(2).add(to(0, kLossless));
    star.world.run_for(milliseconds(50));
    EXPECT_EQ(star.station(0).arrivals(a).packets + star.station(0).arrivals(b).packets, 0u);
    const std::uint64_t stopped_at = star.station(1).sent(a);
    star.world.run_for(milliseconds(50));
    EXPECT_EQ(star.station(1).sent(a), stopped_at) << "pause is refreshed for as long as it lasts";
    star.station(0).block(0);
    star.station(1).stop_flows();
    star.station(2).stop_flows();
    star.world.run_for(milliseconds(50));
    EXPECT_EQ(star.station(0).arrivals(a).packets, star.station(1).sent(a));
    EXPECT_EQ(star.station(0).arrivals(b).packets, star.station(2).sent(b));
    EXPECT_EQ(star.drops(DropReason::kHeadroomFull), 0u);
}

TEST(Lossless, AWorkerThatIsAwayRepeatsItsPausesFirst) {
    StarConfig config;
    config.pool_bytes = 300'000;
    config.speed_bps = {10'000'000'000};
    Star star(config);
    star.station(0).block(1u << kLossless);
    static_cast<void>(star.station(1).add(to(0, kLossless)));
    static_cast<void>(star.station(2).add(to(0, kLossless)));
    star.world.run_for(milliseconds(5));
    const std::uint64_t held = star.core().buffers().group(1, kLossless).bytes();
    for (int i = 0; i < 20; ++i) {
        star.node().stall_until(star.world.now() + microseconds(1'500));  // below half of 3.36 ms
        star.world.run_for(milliseconds(2));
    }
    EXPECT_EQ(star.core().buffers().group(1, kLossless).bytes(), held) << "the peer has never resumed";
    EXPECT_EQ(star.drops(DropReason::kHeadroomFull), 0u);
}

TEST(Lossy, DropsNeverPausesAndLeavesTheLosslessClassAlone) {
    StarConfig config;
    config.stations = 5;
    config.pool_bytes = 400'000;
    Star star(config);
    const Flow lossless = [] {
        Flow flow = to(0, kLossless);
        flow.rate_bps = 2'000'000'000;
        return flow;
    }();
    const std::uint64_t a = star.station(1).add(lossless);
    const std::uint64_t b = star.station(2).add(lossless);
    static_cast<void>(star.station(3).add(to(0, kLossy)));
    static_cast<void>(star.station(4).add(to(0, kLossy)));
    star.world.run_for(milliseconds(20));
    for (std::size_t i = 1; i < 5; ++i) star.station(i).stop_flows();
    star.world.run_for(milliseconds(20));
    EXPECT_EQ(star.station(0).arrivals(a).packets, star.station(1).sent(a));
    EXPECT_EQ(star.station(0).arrivals(b).packets, star.station(2).sent(b));
    EXPECT_GT(star.drops(DropReason::kGroupFull), 0u);
    for (std::size_t p = 0; p < 5; ++p) EXPECT_EQ(star.xoff_frames(p, kLossy), 0u);
}

TEST(Lossy, KeepsItsShareWhileALosslessPriorityIsPausedForTenSeconds) {
    StarConfig config;
    config.speed_bps = {1'000'000'000};
    config.pool_bytes = 400'000;
    Star star(config);
    star.station(0).block(1u << kLossless);
    static_cast<void>(star.station(1).add(to(0, kLossless)));
    Flow flow = to(0, kLossy, {9'018});
    flow.rate_bps = 950'000'000;
    const std::uint64_t lossy = star.station(2).add(flow);
    star.world.run_for(milliseconds(10'000));
    const Arrivals got = star.station(0).arrivals(lossy);
    EXPECT_GE(got.bytes * 8, 9'500'000'000u * 95 / 100);
    EXPECT_EQ(star.drops(), star.drops(DropReason::kNoMember)) << "it drops nothing below its share";
    EXPECT_GE(star.core().flow_control(0).receiver().paused_time(star.world.now(), kLossless), milliseconds(9'900));
}

TEST(Ecn, MarksAtDequeueSoThatTheFirstIsMarkedAndTheLastIsNot) {
    StarConfig config;
    config.stations = 2;
    config.lossless_wred = {
        .ecn = true, .wred = false, .probability_percent = 100, .min_bytes = 100'000, .max_bytes = 100'000};
    Star star(config);
    star.station(0).block(1u << kLossless);
    Flow flow = to(0, kLossless, {1'024});
    flow.packets = 200;
    const std::uint64_t id = star.station(1).add(flow);
    star.world.run_for(milliseconds(5));
    EXPECT_EQ(star.core().counters(0).ecn[kLossless].marked, 0u) << "nothing has left yet";
    star.station(0).block(0);
    star.world.run_for(milliseconds(5));
    const Arrivals got = star.station(0).arrivals(id);
    EXPECT_EQ(got.packets, 200u);
    EXPECT_EQ(got.marked, star.core().counters(0).ecn[kLossless].marked);
    // The queue holds 199 * 1020 bytes (the tag is off) behind the first; it falls to 100,000 after 101 have left.
    EXPECT_EQ(got.marked, 199u - 100'000u / 1'020u);
    EXPECT_EQ(star.drops(), star.drops(DropReason::kNoMember));
}

}  // namespace
}  // namespace vroce::sim
