// XOFF, headroom and XON to the packet, from the configuration alone: SONiC's PFCtest, PFCXonTest, PGDropTest,
// PGHeadroomWatermarkTest, PGSharedWatermarkTest, LosslessVoq, HdrmPoolSizeTest (sai_qos_tests.py), on real ports.
#include <gtest/gtest.h>

#include "tests/blackbox/kit/config.hpp"
#include "tests/blackbox/kit/switch_under_test.hpp"

namespace vroce::blackbox {
namespace {

using nlohmann::json;

constexpr std::uint32_t kFcsBytes = 4;
constexpr unsigned kLossless = 3;

/// What the standard's words make of a configuration, computed anew here.
struct Expected {
    std::uint64_t charge;   ///< of one frame
    std::size_t xoff;       ///< the packet at which the peer is paused
    std::size_t drop;       ///< the packet that headroom has no room for
    std::size_t in_shared;  ///< packets that fit below the threshold
    std::size_t xon_left;   ///< so many packets held at most when the pause ends

    Expected(const SwitchConfig& config, std::uint32_t frame_bytes) {
        const std::uint64_t cell = config.cell_bytes;
        charge = (frame_bytes + kFcsBytes + cell - 1) / cell * cell;
        const std::uint64_t below = config.reserved_bytes + config.threshold_bytes;
        in_shared = below / charge;
        xoff = in_shared + (below % charge == 0 ? 0 : 1);
        drop = in_shared + config.xoff_bytes / charge + 1;
        xon_left = (below - config.xon_offset_bytes) / charge;
    }
};

struct Case {
    std::uint32_t cell_bytes;
    std::uint32_t frame_bytes;
};

class Thresholds : public ::testing::TestWithParam<Case> {
protected:
    Thresholds() {
        config_.cell_bytes = GetParam().cell_bytes;
        spec_.bytes = GetParam().frame_bytes;
    }
    SwitchConfig config_;
    FrameSpec spec_{.to = station(2), .from = station(0)};
};

/// PFCtest (testQosSaiPfcXoffLimit), PGDropTest, PGHeadroomWatermarkTest, PGSharedWatermarkTest.
TEST_P(Thresholds, XoffAtItsPacketAndTheFirstDropAtItsOwn) {
    const Expected expected(config_, spec_.bytes);
    SwitchUnderTest sw(to_json(config_), config_.ports);
    sw.block(2, {kLossless});

    sw.send(0, spec_, expected.xoff - 1);
    sw.settle();
    EXPECT_EQ(sw.pause(0, kLossless)["tx_xoff"], 0) << "one packet before";
    EXPECT_TRUE(sw.pauses(0).empty());
    EXPECT_EQ(sw.drops(), 0u);

    sw.send(0, spec_);
    sw.settle();
    EXPECT_EQ(sw.pause(0, kLossless)["tx_xoff"], 1) << "at the packet";
    ASSERT_TRUE(sw.await([&] { return !sw.pauses(0).empty(); }));
    EXPECT_TRUE(sw.pauses(0).front().xoff(kLossless));
    EXPECT_EQ(sw.drops(), 0u);

    sw.send(0, spec_, expected.drop - 1 - expected.xoff);
    sw.settle();
    EXPECT_EQ(sw.drops(), 0u) << "headroom holds what it says";
    const json full = sw.group(0, kLossless);
    const std::uint64_t in_headroom = expected.drop - 1 - expected.in_shared;
    EXPECT_EQ(full["headroom_bytes_max"], in_headroom * expected.charge);
    EXPECT_EQ(full["shared_bytes_max"], expected.in_shared * expected.charge - config_.reserved_bytes);
    EXPECT_GE(sw.pause(0, kLossless)["tx_refresh"], 0);

    sw.send(0, spec_, 3);
    sw.settle();
    EXPECT_EQ(sw.drops(0, "headroom_full"), 3u);
    EXPECT_EQ(sw.drops(), 3u) << "nothing else, nowhere else";
    EXPECT_EQ(sw.group(0, kLossless)["drop"]["headroom_full"], 3) << "in this priority group";
    EXPECT_EQ(sw.group(0, kLossless)["headroom_bytes_max"], in_headroom * expected.charge) << "no higher";

    sw.unblock(2);
    EXPECT_TRUE(sw.await_frames(2, expected.drop - 1));
    EXPECT_TRUE(sw.await([&] { return sw.pauses(0).back().xon(kLossless); }));
    EXPECT_EQ(sw.group(0, kLossless)["shared_bytes"], 0);
    EXPECT_EQ(sw.frames(2).size(), expected.drop - 1);
}

/// The same place every time (PGDropTest asks for three of four).
TEST_P(Thresholds, TheFirstDropIsAlwaysTheSame) {
    const Expected expected(config_, spec_.bytes);
    SwitchUnderTest sw(to_json(config_), config_.ports);
    for (std::size_t round = 0; round < 5; ++round) {
        sw.block(2, {kLossless});
        sw.send(0, spec_, expected.drop - 1);
        sw.settle();
        EXPECT_EQ(sw.drops(), round) << "round " << round;
        sw.send(0, spec_);
        sw.settle();
        EXPECT_EQ(sw.drops(0, "headroom_full"), round + 1);
        sw.unblock(2);
        EXPECT_TRUE(sw.await_frames(2, expected.drop - 1));
        sw.forget();
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Thresholds,
                         ::testing::Values(Case{1, 996}, Case{1, 64}, Case{1, 1'518}, Case{1, 9'000}, Case{256, 64},
                                           Case{256, 252}, Case{256, 253}, Case{256, 1'082}, Case{256, 4'210}),
                         [](const auto& tested) {
                             return "Cell" + std::to_string(tested.param.cell_bytes) + "Frame" +
                                    std::to_string(tested.param.frame_bytes);
                         });

/// PFCXonTest: two sinks hold a source's frames; one that opens is not enough, the second ends the pause.
TEST(Xon, ComesWhenTheUseIsBelowTheOffsetAndNotBefore) {
    SwitchConfig config;
    config.ports = 4;
    const Expected expected(config, 996);
    SwitchUnderTest sw(to_json(config), config.ports);
    sw.block(2, {kLossless});
    sw.block(3, {kLossless});
    const std::size_t stays = expected.xon_left + 1;
    sw.send(0, {.to = station(2), .from = station(0)}, stays);
    sw.send(0, {.to = station(3), .from = station(0)}, expected.xoff - stays);
    sw.settle();
    ASSERT_EQ(sw.pause(0, kLossless)["tx_xoff"], 1);

    sw.unblock(3);
    ASSERT_TRUE(sw.await_frames(3, expected.xoff - stays));
    const std::uint64_t refreshed = sw.pause(0, kLossless)["tx_refresh"];
    sw.poll_for(std::chrono::milliseconds(50));
    EXPECT_EQ(sw.pause(0, kLossless)["tx_xon"], 0) << "one packet above";
    EXPECT_GT(sw.pause(0, kLossless)["tx_refresh"], refreshed) << "it goes on asking";

    sw.unblock(2);
    ASSERT_TRUE(sw.await_frames(2, stays));
    ASSERT_TRUE(sw.await([&] { return sw.pause(0, kLossless)["tx_xon"] == 1; }));
    const json quiet = sw.pause(0, kLossless);
    sw.poll_for(std::chrono::milliseconds(100));
    EXPECT_EQ(sw.pause(0, kLossless), quiet) << "no pause frame of any kind after it";
    EXPECT_EQ(sw.drops(), 0u);
}

/// The last packet that may stay: exactly at the offset is XON.
TEST(Xon, AtTheOffsetItself) {
    SwitchConfig config;
    config.ports = 4;
    const Expected expected(config, 996);
    SwitchUnderTest sw(to_json(config), config.ports);
    sw.block(2, {kLossless});
    sw.block(3, {kLossless});
    sw.send(0, {.to = station(2), .from = station(0)}, expected.xon_left);
    sw.send(0, {.to = station(3), .from = station(0)}, expected.xoff - expected.xon_left);
    sw.settle();
    ASSERT_EQ(sw.pause(0, kLossless)["tx_xoff"], 1);
    sw.unblock(3);
    EXPECT_TRUE(sw.await([&] { return sw.pause(0, kLossless)["tx_xon"] == 1; }));
}

/// LosslessVoq: both sources of a blocked sink are paused, each at its own threshold.
TEST(Xoff, EverySourceOfABlockedSinkIsPaused) {
    SwitchConfig config;
    config.ports = 4;
    const Expected expected(config, 996);
    SwitchUnderTest sw(to_json(config), config.ports);
    sw.block(3, {kLossless});
    for (std::size_t source : {0, 1}) sw.send(source, {.to = station(3), .from = station(source)}, expected.xoff - 1);
    sw.settle();
    for (std::size_t source : {0, 1}) EXPECT_EQ(sw.pause(source, kLossless)["tx_xoff"], 0);
    for (std::size_t source : {0, 1}) sw.send(source, {.to = station(3), .from = station(source)});
    sw.settle();
    for (std::size_t source : {0, 1}) EXPECT_EQ(sw.pause(source, kLossless)["tx_xoff"], 1);
    EXPECT_EQ(sw.pause(2, kLossless)["tx_xoff"], 0) << "who sends nothing";
    EXPECT_EQ(sw.drops(), 0u);
}

/// SharedResSizeTest: dynamic thresholds shrink with what others hold.
TEST(Xoff, ADynamicThresholdIsItsPartOfWhatIsLeft) {
    SwitchConfig config;
    config.ports = 4;
    config.pool_bytes = 400'000;
    json file = to_json(config);
    json& lossless = file["BUFFER_PROFILE"]["lossless"];
    lossless.erase("static_th");
    lossless["dynamic_th"] = "0";  // as much as is left
    SwitchUnderTest sw(file, config.ports);
    sw.block(3, {kLossless});
    const std::uint64_t shared = config.pool_bytes - config.ports * (config.reserved_bytes + config.xoff_bytes);
    const auto limit = [&](std::size_t port) { return sw.group(port, kLossless)["shared_limit_bytes"]; };
    EXPECT_EQ(limit(0), shared);
    // The first source alone gets half: then it holds as much as is left.
    const std::uint64_t first = shared / 2 / 1'000 + config.reserved_bytes / 1'000;
    sw.send(0, {.to = station(3), .from = station(0)}, first - 1);
    sw.settle();
    EXPECT_EQ(sw.pause(0, kLossless)["tx_xoff"], 0);
    sw.send(0, {.to = station(3), .from = station(0)}, 1);
    sw.settle();
    EXPECT_EQ(sw.pause(0, kLossless)["tx_xoff"], 1);
    EXPECT_EQ(limit(1), shared - (first * 1'000 - config.reserved_bytes));
    sw.unblock(3);
    ASSERT_TRUE(sw.await_frames(3, first));
    EXPECT_EQ(limit(0), shared) << "all of it is back";
}

/// HdrmPoolSizeTest: a shared headroom pool gives its bytes to whom needs them first, and no more than it has.
TEST(Headroom, APoolForAllPortsIsGivenOutToTheByte) {
    SwitchConfig config;
    config.ports = 4;
    json file = to_json(config);
    file["BUFFER_POOL"]["ingress_pool"]["xoff"] = "50000";
    SwitchUnderTest sw(file, config.ports);
    const Expected expected(config, 996);
    sw.block(3, {kLossless});
    const auto fill = [&](std::size_t source, std::size_t packets) {
        sw.send(source, {.to = station(3), .from = station(source)}, packets);
        sw.settle();
    };
    fill(0, expected.in_shared + 30);
    EXPECT_EQ(sw.group(0, kLossless)["headroom_bytes"], 30'000);
    fill(1, expected.in_shared + 20);
    EXPECT_EQ(sw.group(1, kLossless)["headroom_bytes"], 20'000) << "less than its own limit of 30,000";
    EXPECT_EQ(sw.drops(), 0u);
    fill(1, 1);
    EXPECT_EQ(sw.drops(1, "headroom_full"), 1u) << "the pool is used up";
    EXPECT_EQ(sw.ask("counters")["pools"]["ingress_pool"]["headroom_bytes_max"], 50'000);
}

/// test_buffer.py: thresholds of live traffic follow a change at once, and a change that does not fit is refused whole.
TEST(Change, PfcOffAndOnWhileFramesWait) {
    SwitchConfig config;
    const Expected expected(config, 996);
    SwitchUnderTest sw(to_json(config), config.ports);
    sw.block(2, {kLossless});
    sw.send(0, {.to = station(2), .from = station(0)}, expected.xoff);
    sw.settle();
    ASSERT_EQ(sw.pause(0, kLossless)["tx_xoff"], 1);
    EXPECT_NE(sw.dcb_refusal(0, "pfc", {{"prio-pfc", {{"9", 1}}}}), "accepted");
    EXPECT_EQ(sw.pause(0, kLossless)["tx_xon"], 0) << "a refused change changes nothing";
    sw.dcb_set(0, "pfc", {{"prio-pfc", {{"3", 0}}}});
    const json off = sw.pause(0, kLossless);
    sw.poll_for(std::chrono::milliseconds(20));
    EXPECT_EQ(sw.pause(0, kLossless)["tx_refresh"], off["tx_refresh"]);
    sw.dcb_set(0, "pfc", {{"prio-pfc", {{"3", 1}}}});
    EXPECT_TRUE(sw.await([&] { return sw.pause(0, kLossless)["tx_xoff"] == 2; })) << "asked anew";
    sw.unblock(2);
    EXPECT_TRUE(sw.await_frames(2, expected.xoff)) << "none of what waited is lost";
    EXPECT_EQ(sw.drops(), 0u);
}

}  // namespace
}  // namespace vroce::blackbox
