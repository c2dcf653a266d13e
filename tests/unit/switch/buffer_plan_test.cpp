#include <gtest/gtest.h>

#include <array>

#include "switch/mmu/plan.hpp"

namespace vroce::sw {
namespace {

const std::array<std::string, 2> kNames{"Ethernet0", "Ethernet4"};
constexpr std::array<std::uint64_t, 2> kNeeded{30'000, 50'000};

BufferConfig one_pool() {
    BufferConfig config;
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
    return config;
}

TEST(BufferPlan, SharedRoomIsWhatIsNotPromised) {
    const auto plan = plan_buffers(one_pool(), kNames, kNeeded);
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
    const auto plan = plan_buffers(one_pool(), kNames, kNeeded);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->limits.ports[1].groups[3]->headroom_bytes, 50'000u);
    ASSERT_EQ(plan->raised.size(), 1u);
    EXPECT_EQ(plan->raised[0],
              "BUFFER_PG|Ethernet4|3: headroom raised from 40000 to 50000 bytes, which this port's ring "
              "and cable can bring after a pause");
    BufferConfig exact = one_pool();
    exact.headroom_exact = true;
    const auto kept = plan_buffers(exact, kNames, kNeeded);
    EXPECT_EQ(kept->limits.ports[1].groups[3]->headroom_bytes, 40'000u);
    EXPECT_TRUE(kept->raised.empty());
}

TEST(BufferPlan, HeadroomThatIsNotToldIsWorkedOut) {
    BufferConfig config = one_pool();
    config.profiles[0].xoff_bytes = 0;
    const auto plan = plan_buffers(config, kNames, kNeeded);
    EXPECT_EQ(plan->limits.ports[0].groups[3]->headroom_bytes, 30'000u);
    EXPECT_TRUE(plan->raised.empty());
}

TEST(BufferPlan, ASharedHeadroomPoolTakesNothingOffThePool) {
    BufferConfig config = one_pool();
    config.pools[0].xoff_bytes = 60'000;
    const auto plan = plan_buffers(config, kNames, kNeeded);
    EXPECT_EQ(plan->limits.pools[0].shared_bytes, 200'000u - 2 * 1'400);
    EXPECT_EQ(plan->limits.pools[0].headroom_bytes, 60'000u);
}

TEST(BufferPlan, APoolThatPromisesMoreThanItHasIsRefused) {
    BufferConfig config = one_pool();
    config.pools[0].size_bytes = 92'799;
    const auto plan = plan_buffers(config, kNames, kNeeded);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error(),
              "BUFFER_POOL|ingress_pool: size \"92799\" is less than the 92800 bytes that its priority "
              "groups and queues have of their own; allowed: that much or more");
}

}  // namespace
}  // namespace vroce::sw
