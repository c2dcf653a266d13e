// The bitmap that applications ring: what is taken of it in one scan, in which order, and what is none.
#include "tests/unit/nic_device/host.hpp"

namespace vroce::nic {
namespace {

class Doorbells : public ::testing::Test {
protected:
    static constexpr std::size_t kQps = 1'000;
    Doorbells() {
        for (std::size_t i = 0; i < kQps; ++i) qps.push_back(host.make_qp());
    }
    [[nodiscard]] bool rung(std::size_t i) const {
        return (host.doorbells.leaf[qps[i]->slot / 64] >> qps[i]->slot % 64 & 1) != 0;
    }
    [[nodiscard]] std::size_t still_rung() const {
        std::size_t count = 0;
        for (std::size_t i = 0; i < kQps; ++i) count += rung(i) ? 1u : 0u;
        return count;
    }
    Host host;
    std::vector<std::unique_ptr<TestQp>> qps;
};

TEST_F(Doorbells, OneScanTakesAPartAndTheNextOnesTheRest) {
    for (const auto& qp : qps) host.ring(*qp);
    std::size_t scans = 0;
    for (std::size_t left = kQps; left != 0; ++scans) {
        ASSERT_TRUE(host.device.scan_doorbells(host.now));
        const std::size_t now_left = still_rung();
        EXPECT_LE(left - now_left, 256u + 63u);
        EXPECT_LT(now_left, left);
        left = now_left;
    }
    EXPECT_EQ(scans, 4u);
    EXPECT_EQ(host.count(DeviceCounter::DoorbellsTaken), kQps);
    EXPECT_EQ(host.count(DeviceCounter::DoorbellScansCut), 3u);
    EXPECT_FALSE(host.device.scan_doorbells(host.now));
}

TEST_F(Doorbells, TheLastOneHasItsTurnHoweverLoudTheFirstAre) {
    host.ring(*qps.back());
    for (int scan = 0; scan < 5 && rung(kQps - 1); ++scan) {
        for (std::size_t i = 0; i < 600; ++i) host.ring(*qps[i]);
        host.device.scan_doorbells(host.now);
    }
    EXPECT_FALSE(rung(kQps - 1));
}

TEST_F(Doorbells, BitsThatNobodyOwnsAreCountedAndDoNotKeepTheWorkerAwake) {
    host.doorbells.leaf[200] = ~std::uint64_t{0};
    host.doorbells.summary[200 / 64] = std::uint64_t{1} << 200 % 64;
    EXPECT_FALSE(host.device.scan_doorbells(host.now));
    EXPECT_EQ(host.count(DeviceCounter::DoorbellsStray), 64u);
    EXPECT_EQ(host.doorbells.leaf[200], 0u);
    host.doorbells.summary[0] = ~std::uint64_t{0};
    EXPECT_FALSE(host.device.scan_doorbells(host.now)) << "a summary without leaves";
}

TEST_F(Doorbells, AClosedContextIsNotLookedAt) {
    for (const auto& qp : qps) host.ring(*qp);
    ASSERT_TRUE(host.device.scan_doorbells(host.now));
    host.device.close_context(host.context);
    EXPECT_FALSE(host.device.scan_doorbells(host.now));
}

}  // namespace
}  // namespace vroce::nic
