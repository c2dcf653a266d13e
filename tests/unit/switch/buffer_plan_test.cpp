#include <gtest/gtest.h>

#include <array>

#include "switch/mmu/plan.hpp"

namespace vroce::sw {
namespace {

constexpr std::array<std::uint64_t, 2> kNeeded{30'000, 50'000};

/// Two ports with PFC for priority 3.
SwitchConfig two_ports() {
    SwitchConfig config;
    config.ports.resize(2);
    config.ports[0].name = "Ethernet0";
    config.ports[1].name = "Ethernet4";
    for (PortConfig& port : config.ports) port.qos.flow_control.pfc_enable = 1 << 3;
    return config;
}

SwitchConfig one_pool() {
    SwitchConfig whole = two_ports();
    BufferConfig& config = whole.buffers;
    config.pools = {{.name = "ingress_pool", .size_bytes = 200'000}};
    BufferProfileConfig lossless;
    lossless.name = "lossless";
    lossless.size_bytes = 1'000;
    lossless.dynamic_alpha = std::int8_t{-3};
    lossless.lossless = true;
    lossless.xoff_bytes = 40'000;
    lossless.xon_bytes = 500;
    lossless.xon_offset_bytes = 2'000;
    BufferProfileConfig lossy;
    lossy.name = "lossy";
    lossy.size_bytes = 200;
    lossy.static_bytes = 60'000;
    config.profiles = {lossless, lossy};
    config.ports.resize(2);
    for (auto& port : config.ports) {
        port.pg[3] = 0;
        port.pg[0] = 1;
        port.queue[1] = 1;
    }
    return whole;
}

TEST(BufferPlan, SharedRoomIsWhatIsNotPromised) {
    const auto plan = plan_buffers(one_pool(), kNeeded);
    ASSERT_TRUE(plan) << plan.error();
    const BufferLimits& limits = plan->limits;
    EXPECT_EQ(limits.pools[0].shared_bytes, 200'000u - 2 * (1'000 + 200 + 200) - 40'000 - 50'000);
    ASSERT_TRUE(limits.ports[0].groups[3]);
    EXPECT_EQ(limits.ports[0].groups[3]->headroom_bytes, 40'000u) << "more than needed stays";
    EXPECT_EQ(limits.ports[0].groups[3]->shared.alpha_exponent, -3);
    EXPECT_EQ(limits.ports[0].groups[3]->xon_offset_bytes, 2'000u);
    EXPECT_FALSE(limits.ports[0].groups[0]->lossless());
    EXPECT_FALSE(limits.ports[0].groups[1]);
    EXPECT_EQ(limits.ports[1].queues[1]->shared.static_bytes, 60'000u);
}

TEST(BufferPlan, HeadroomThatCannotHoldTheRingIsRaisedAndSaidSo) {
    const auto plan = plan_buffers(one_pool(), kNeeded);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->limits.ports[1].groups[3]->headroom_bytes, 50'000u);
    ASSERT_EQ(plan->raised.size(), 1u);
    EXPECT_EQ(plan->raised[0],
              "BUFFER_PG|Ethernet4|3: headroom raised from 40000 to 50000 bytes, which this port's ring "
              "and cable can bring after a pause");
    SwitchConfig exact = one_pool();
    exact.buffers.headroom_exact = true;
    const auto kept = plan_buffers(exact, kNeeded);
    EXPECT_EQ(kept->limits.ports[1].groups[3]->headroom_bytes, 40'000u);
    EXPECT_TRUE(kept->raised.empty());
}

TEST(BufferPlan, HeadroomThatIsNotToldIsWorkedOut) {
    SwitchConfig config = one_pool();
    config.buffers.profiles[0].xoff_bytes = 0;
    const auto plan = plan_buffers(config, kNeeded);
    EXPECT_EQ(plan->limits.ports[0].groups[3]->headroom_bytes, 30'000u);
    EXPECT_TRUE(plan->raised.empty());
}

TEST(BufferPlan, ASharedHeadroomPoolTakesNothingOffThePool) {
    SwitchConfig config = one_pool();
    config.buffers.pools[0].xoff_bytes = 60'000;
    const auto plan = plan_buffers(config, kNeeded);
    EXPECT_EQ(plan->limits.pools[0].shared_bytes, 200'000u - 2 * 1'400);
    EXPECT_EQ(plan->limits.pools[0].headroom_bytes, 60'000u);
}

TEST(BufferPlan, APoolThatPromisesMoreThanItHasIsRefused) {
    SwitchConfig config = one_pool();
    config.buffers.pools[0].size_bytes = 92'799;
    const auto plan = plan_buffers(config, kNeeded);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error(),
              "BUFFER_POOL|ingress_pool: size \"92799\" is less than the 92800 bytes that its priority "
              "groups and queues have of their own; allowed: that much or more");
}

TEST(BufferPlan, APriorityWithPfcAndWithoutAProfileGetsADefaultThatIsLossless) {
    const auto plan = plan_buffers(two_ports(), kNeeded);
    ASSERT_TRUE(plan) << plan.error();
    ASSERT_TRUE(plan->limits.ports[0].groups[3]);
    EXPECT_EQ(plan->limits.ports[0].groups[3]->headroom_bytes, 30'000u);
    EXPECT_EQ(plan->limits.ports[1].groups[3]->headroom_bytes, 50'000u);
    EXPECT_FALSE(plan->limits.ports[0].groups[0]);
    EXPECT_EQ(plan->limits.pools.at(0).shared_bytes, 2u << 20);
}

TEST(BufferPlan, ALosslessProfileWithoutPfcMakesALossyGroup) {
    SwitchConfig config = one_pool();
    config.ports[0].qos.flow_control.pfc_enable = 0;
    const auto plan = plan_buffers(config, kNeeded);
    ASSERT_TRUE(plan) << plan.error();
    EXPECT_FALSE(plan->limits.ports[0].groups[3]->lossless());
    EXPECT_TRUE(plan->limits.ports[1].groups[3]->lossless());
}

TEST(BufferPlan, LinkPauseIsLosslessForTheDefaultPriorityAtLeast) {
    SwitchConfig config = two_ports();
    config.ports[0].qos.flow_control = {};
    config.ports[0].qos.flow_control.link_pause = true;
    const auto plan = plan_buffers(config, kNeeded);
    ASSERT_TRUE(plan) << plan.error();
    EXPECT_TRUE(plan->limits.ports[0].groups[0]->lossless());
    EXPECT_FALSE(plan->limits.ports[0].groups[3]);
}

TEST(BufferPlan, WithoutFlowControlAndBuffersNothingIsAccounted) {
    SwitchConfig config = two_ports();
    for (PortConfig& port : config.ports) port.qos.flow_control = {};
    const auto plan = plan_buffers(config, kNeeded);
    ASSERT_TRUE(plan);
    EXPECT_TRUE(plan->limits.pools.empty());
    for (const auto& group : plan->limits.ports[0].groups) EXPECT_FALSE(group);
}

}  // namespace
}  // namespace vroce::sw
