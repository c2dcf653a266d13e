// Lossy classes drop, at their packet and where they should, and never ask anybody to pause: SONiC's LossyQueueTest,
// LossyQueueVoqTest, PgMinThresholdTest; rows 3, 44, 48 and 49 of what went wrong elsewhere.
#include <gtest/gtest.h>

#include "tests/blackbox/kit/config.hpp"
#include "tests/blackbox/kit/switch_under_test.hpp"

namespace vroce::blackbox {
namespace {

using nlohmann::json;

constexpr std::size_t kSink = 2;

class Lossy : public ::testing::Test {
protected:
    void start(const SwitchConfig& config) {
        json file = to_json(config);
        file["PORT"]["Ethernet8"]["pfc_asym"] = "on";  // its lossy priorities can be held too
        start(file);
    }
    void start(const json& file) { sw_ = std::make_unique<SwitchUnderTest>(file, 3); }
    void send(std::size_t source, unsigned dscp, std::size_t count, std::uint32_t bytes = 996) {
        sw_->send(source, {.to = station(kSink), .from = station(source), .dscp = dscp, .bytes = bytes}, count);
        sw_->settle();
    }
    void expect_no_pause() {
        for (std::size_t port : {0, 1}) EXPECT_TRUE(sw_->pauses(port).empty()) << "port " << port;
    }
    std::unique_ptr<SwitchUnderTest> sw_;
};

TEST_F(Lossy, DropsAtTheEgressAtItsPacketAndNeverPauses) {
    SwitchConfig config;
    start(config);
    sw_->block(kSink, {0});
    const std::size_t fit = config.lossy_queue_bytes / 1'000;
    send(0, 0, fit);
    EXPECT_EQ(sw_->drops(), 0u);
    send(0, 0, 1);
    EXPECT_EQ(sw_->drops(kSink, "queue_full"), 1u);
    EXPECT_EQ(sw_->queue(kSink, 0)["drop"]["queue_full"], 1) << "in this queue";
    send(0, 0, 50);
    EXPECT_EQ(sw_->drops(kSink, "queue_full"), 51u);
    EXPECT_EQ(sw_->drops(), 51u) << "none at ingress";
    EXPECT_EQ(sw_->queue(kSink, 0)["buffer_bytes_max"], config.lossy_queue_bytes);
    expect_no_pause();
    sw_->unblock(kSink);
    EXPECT_TRUE(sw_->await_frames(kSink, fit));
}

/// LossyQueueVoqMultiSrc: sources share the queue's room.
TEST_F(Lossy, SourcesShareTheQueue) {
    SwitchConfig config;
    start(config);
    sw_->block(kSink, {0});
    const std::size_t fit = config.lossy_queue_bytes / 1'000;
    send(0, 0, fit / 2);
    send(1, 0, fit / 2);
    EXPECT_EQ(sw_->drops(), 0u);
    send(1, 0, 1);
    send(0, 0, 1);
    EXPECT_EQ(sw_->drops(kSink, "queue_full"), 2u);
}

/// Row 3: a lossy priority group that is full drops at ingress; its peer hears nothing.
TEST_F(Lossy, KnownFailure03_AFullPriorityGroupDropsAndNeverPauses) {
    SwitchConfig config;
    config.lossy_threshold_bytes = 30'000;
    start(config);
    sw_->block(kSink, {0});
    send(0, 0, 30);
    EXPECT_EQ(sw_->drops(), 0u);
    send(0, 0, 5);
    EXPECT_EQ(sw_->drops(0, "group_full"), 5u);
    EXPECT_EQ(sw_->group(0, 0)["drop"]["group_full"], 5) << "in this group";
    send(1, 0, 30);
    EXPECT_EQ(sw_->drops(), 5u) << "another port has its own";
    sw_->poll_for(std::chrono::milliseconds(10));
    expect_no_pause();
}

/// PgMinThresholdTest: whoever takes all of the shared room leaves the reserved of others alone.
TEST_F(Lossy, WhatIsReservedIsThereHoweverFullThePoolIs) {
    SwitchConfig config;
    config.pool_bytes = 300'000;
    json file = to_json(config);
    file["PORT"]["Ethernet8"]["pfc_asym"] = "on";
    file["BUFFER_PROFILE"]["reserved"] = {{"pool", "ingress_pool"}, {"size", "10000"}, {"static_th", "0"}};
    file["BUFFER_PG"].erase("Ethernet4|0-2");
    file["BUFFER_PG"]["Ethernet4|0"] = {{"profile", "lossy"}};
    file["BUFFER_PG"]["Ethernet4|1"] = {{"profile", "reserved"}};
    file["BUFFER_PROFILE"]["egress_lossy"]["static_th"] = "10000000";
    start(file);
    sw_->block(kSink, {0, 1});
    send(0, 0, 400);
    EXPECT_GT(sw_->drops(0, "group_full"), 0u) << "the pool is full";
    send(1, 8, 10);
    EXPECT_EQ(sw_->drops(1, "group_full"), 0u) << "10,000 bytes are its own";
    send(1, 8, 1);
    EXPECT_EQ(sw_->drops(1, "group_full"), 1u) << "and no more";
}

/// Row 44: what nobody knows is flooded in a lossy class and dropped, with a name, in a lossless one.
TEST_F(Lossy, KnownFailure44_LosslessFramesAreNeverFlooded) {
    start(SwitchConfig{});
    const Mac unknown = 0x0200'0000'9999;
    sw_->send(0, {.to = unknown, .dscp = kRoceDscp});
    sw_->send(0, {.to = kBroadcastMac, .dscp = kRoceDscp});
    sw_->settle();
    EXPECT_EQ(sw_->drops(0, "unknown_unicast_lossless"), 1u);
    EXPECT_EQ(sw_->drops(0, "broadcast_lossless"), 1u);
    sw_->send(0, {.to = unknown, .dscp = kBestEffortDscp});
    sw_->send(0, {.to = kBroadcastMac, .dscp = kBestEffortDscp});
    for (std::size_t port : {1, 2}) {
        EXPECT_TRUE(sw_->await_frames(port, 2));
        for (const Bytes& frame : sw_->frames(port)) EXPECT_EQ(view(frame).dscp(), kBestEffortDscp);
    }
}

/// Rows 48 and 49: RoCE in a class without PFC works until it does not; who sends it there is counted by its mark.
TEST_F(Lossy, KnownFailure48_RoceInALossyClassIsCountedByDscp) {
    start(SwitchConfig{});
    const auto roce = [](unsigned dscp) {
        Bytes bytes = frame({.to = station(kSink), .dscp = dscp});
        bytes[36] = 4'791 >> 8;  // UDP destination
        bytes[37] = 4'791 & 0xFF;
        return bytes;
    };
    sw_->send_bytes(0, roce(0), 7);
    sw_->send_bytes(0, roce(10), 3);
    sw_->send_bytes(0, roce(kRoceDscp), 5);
    sw_->settle();
    const json counted = sw_->counters(0)["roce_in_lossy_class"];
    EXPECT_EQ(counted["packets"], 10);
    EXPECT_EQ(counted["dscp"]["0"], 7);
    EXPECT_EQ(counted["dscp"]["10"], 3);
}

}  // namespace
}  // namespace vroce::blackbox
