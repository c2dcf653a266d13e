// The buffer's ledger: thresholds to the byte, XOFF and XON, and the invariant that pools hold what their users hold.
#include "switch/mmu/buffer_manager.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "common/base/random.hpp"

namespace vroce::sw {
namespace {

constexpr unsigned kLossless = 3;
constexpr unsigned kLossy = 0;

/// Two ports, one pool: group 3 lossless, group 0 lossy; a cell is a byte, so that thresholds are exact.
BufferLimits two_ports() {
    BufferLimits limits;
    limits.cell_bytes = 1;
    limits.pools = {{.shared_bytes = 100'000}};
    PortBufferLimits port;
    port.groups[kLossless] = PriorityGroupLimits{.reserved_bytes = 1'000,
                                                 .shared = {.alpha_exponent = std::nullopt, .static_bytes = 10'000},
                                                 .headroom_bytes = 5'000,
                                                 .xon_bytes = 0,
                                                 .xon_offset_bytes = 2'000};
    port.groups[kLossy] = PriorityGroupLimits{.shared = {.alpha_exponent = std::nullopt, .static_bytes = 20'000}};
    limits.ports = {port, port};
    return limits;
}

class Ledger {
public:
    explicit Ledger(BufferLimits limits) : manager(std::move(limits)) {}

    /// A frame that takes `bytes` with its FCS.
    Admission add(unsigned group, std::uint32_t bytes, PortId in = 0, PortId out = 1, unsigned queue = 0) {
        auto packet = std::make_unique<Packet>();
        packet->length = bytes - 4;
        packet->meta.in_port = in;
        packet->meta.out_port = out;
        packet->meta.priority = static_cast<std::uint8_t>(group);
        packet->meta.queue = static_cast<std::uint8_t>(queue);
        const Admission verdict = manager.admit(*packet);
        if (verdict == Admission::kAdmitted) held.push_back(std::move(packet));
        return verdict;
    }
    void take_oldest() {
        manager.release(*held.front());
        held.pop_front();
    }
    [[nodiscard]] bool congested(unsigned group, PortId port = 0) {
        manager.update(port);
        return was_congested(group, port);
    }
    /// When it was last looked at.
    [[nodiscard]] bool was_congested(unsigned group, PortId port = 0) const {
        return (manager.congested_groups(port) >> group & 1) != 0;
    }
    /// Pools hold what their users hold, and the users what their frames do.
    void check() const {
        std::vector<PoolUse> sums(manager.limits().pools.size());
        std::uint64_t charged = 0;
        std::uint64_t in_groups = 0;
        for (const auto& packet : held) charged += packet->meta.charge_bytes;
        for (std::size_t p = 0; p < manager.limits().ports.size(); ++p) {
            for (unsigned g = 0; g < kPriorityGroups; ++g) {
                const PriorityGroupUse& use = manager.group(static_cast<PortId>(p), g);
                sums[use.pool].shared_bytes += use.shared_bytes;
                sums[use.pool].headroom_bytes += use.headroom_bytes;
                in_groups += use.bytes();
            }
            for (unsigned q = 0; q < kQueues; ++q)
                sums[manager.queue(static_cast<PortId>(p), q).pool].shared_bytes +=
                    manager.queue(static_cast<PortId>(p), q).shared_bytes;
        }
        ASSERT_EQ(in_groups, charged);
        for (std::size_t i = 0; i < sums.size(); ++i) {
            ASSERT_EQ(manager.pool(i).shared_bytes, sums[i].shared_bytes);
            ASSERT_EQ(manager.pool(i).headroom_bytes, sums[i].headroom_bytes);
        }
    }

    BufferManager manager;
    std::deque<std::unique_ptr<Packet>> held;
};

TEST(BufferManager, AFrameTakesWholeCellsWithItsFcs) {
    BufferLimits limits = two_ports();
    limits.cell_bytes = 256;
    const BufferManager manager(limits);
    EXPECT_EQ(manager.charge_bytes(60), 256u);
    EXPECT_EQ(manager.charge_bytes(252), 256u);
    EXPECT_EQ(manager.charge_bytes(253), 512u);
}

TEST(BufferManager, ReservedRoomIsUsedFirst) {
    Ledger ledger(two_ports());
    ASSERT_EQ(ledger.add(kLossless, 600), Admission::kAdmitted);
    ASSERT_EQ(ledger.add(kLossless, 600), Admission::kAdmitted);
    EXPECT_EQ(ledger.manager.group(0, kLossless).reserved_bytes, 1'000u);
    EXPECT_EQ(ledger.manager.group(0, kLossless).shared_bytes, 200u);
    EXPECT_EQ(ledger.manager.pool(0).shared_bytes, 200u);
}

TEST(BufferManager, CopiesOfAFrameShareTheChargeOfTheirGroupUntilTheLastHasLeft) {
    BufferLimits limits = two_ports();
    for (auto& port : limits.ports)
        port.queues[0] = QueueLimits{.shared = {.alpha_exponent = std::nullopt, .static_bytes = 50'000}};
    BufferManager manager(limits);
    std::array<Packet, 3> copies;
    for (std::size_t i = 0; i < copies.size(); ++i) {
        copies[i].length = i == 1 ? 2'000 : 1'996;  // one leaves with a tag
        copies[i].meta.priority = kLossless;
        copies[i].meta.out_port = static_cast<PortId>(i & 1);
    }
    ASSERT_EQ(manager.admit(copies[0]), Admission::kAdmitted);
    ASSERT_EQ(manager.admit_copy(copies[1], copies[0]), Admission::kAdmitted);
    ASSERT_EQ(manager.admit_copy(copies[2], copies[0]), Admission::kAdmitted);
    EXPECT_EQ(manager.group(0, kLossless).bytes(), 2'000u) << "once";
    EXPECT_EQ(manager.queue(0, 0).bytes(), 4'000u);
    EXPECT_EQ(manager.queue(1, 0).bytes(), 2'004u);
    manager.release(copies[0]);
    manager.release(copies[1]);
    EXPECT_EQ(manager.group(0, kLossless).bytes(), 2'000u) << "one copy still waits";
    EXPECT_EQ(manager.queue(1, 0).bytes(), 0u);
    manager.release(copies[2]);
    EXPECT_EQ(manager.group(0, kLossless).bytes(), 0u);
    EXPECT_EQ(manager.pool(0).shared_bytes, 0u);
}

TEST(BufferManager, MoreSharesThanThereAreAreChargedForThemselves) {
    BufferLimits limits = two_ports();
    for (auto& port : limits.ports) port.groups[kLossy]->shared.static_bytes = 50'000'000;
    limits.pools[0].shared_bytes = 100'000'000;
    BufferManager manager(limits);
    std::vector<std::array<Packet, 2>> frames(5'000);
    for (auto& [first, copy] : frames) {
        first.length = copy.length = 996;
        ASSERT_EQ(manager.admit(first), Admission::kAdmitted);
        ASSERT_EQ(manager.admit_copy(copy, first), Admission::kAdmitted);
    }
    EXPECT_EQ(manager.group(0, kLossy).bytes(), 5'000'000u + (5'000u - 4'095u) * 1'000u);
    for (auto& frame : frames) {
        for (Packet& packet : frame) manager.release(packet);
    }
    EXPECT_EQ(manager.group(0, kLossy).bytes(), 0u);
    Packet first;
    Packet copy;
    first.length = copy.length = 996;
    ASSERT_EQ(manager.admit(first), Admission::kAdmitted);
    ASSERT_EQ(manager.admit_copy(copy, first), Admission::kAdmitted);
    EXPECT_EQ(manager.group(0, kLossy).bytes(), 1'000u) << "shares come back";
}

TEST(BufferManager, ALossyGroupDropsOneByteBeyondItsThreshold) {
    Ledger ledger(two_ports());
    for (int i = 0; i < 20; ++i) ASSERT_EQ(ledger.add(kLossy, 1'000), Admission::kAdmitted);
    EXPECT_EQ(ledger.add(kLossy, 64), Admission::kGroupFull);
    EXPECT_FALSE(ledger.congested(kLossy)) << "a lossy class never pauses";
    ledger.take_oldest();
    EXPECT_EQ(ledger.add(kLossy, 1'001), Admission::kGroupFull);
    EXPECT_EQ(ledger.add(kLossy, 1'000), Admission::kAdmitted);
}

TEST(BufferManager, ALosslessGroupAsksForPauseAtItsThresholdAndLandsTheRestInHeadroom) {
    Ledger ledger(two_ports());
    for (int i = 0; i < 10; ++i) ASSERT_EQ(ledger.add(kLossless, 1'000), Admission::kAdmitted);
    EXPECT_FALSE(ledger.congested(kLossless)) << "9,000 of 10,000 shared bytes";
    ASSERT_EQ(ledger.add(kLossless, 1'000), Admission::kAdmitted);
    EXPECT_TRUE(ledger.congested(kLossless)) << "at the threshold, before anything is in headroom";
    for (int i = 0; i < 5; ++i) ASSERT_EQ(ledger.add(kLossless, 1'000), Admission::kAdmitted);
    EXPECT_EQ(ledger.manager.group(0, kLossless).headroom_bytes, 5'000u);
    EXPECT_EQ(ledger.add(kLossless, 64), Admission::kHeadroomFull);
    EXPECT_EQ(ledger.add(kLossy, 64), Admission::kAdmitted) << "others are not disturbed";
}

TEST(BufferManager, ResumesBelowTheOffsetAndNotBefore) {
    Ledger ledger(two_ports());
    for (int i = 0; i < 12; ++i) ASSERT_EQ(ledger.add(kLossless, 1'000), Admission::kAdmitted);
    ASSERT_TRUE(ledger.congested(kLossless));
    ledger.take_oldest();
    EXPECT_TRUE(ledger.congested(kLossless)) << "headroom is empty, 10,000 shared bytes";
    ledger.take_oldest();
    EXPECT_TRUE(ledger.congested(kLossless)) << "9,000";
    ledger.take_oldest();
    EXPECT_FALSE(ledger.congested(kLossless)) << "8,000 = limit - offset";
}

TEST(BufferManager, ReleaseTakesFromHeadroomThenSharedThenReserved) {
    Ledger ledger(two_ports());
    for (int i = 0; i < 13; ++i) ASSERT_EQ(ledger.add(kLossless, 1'000), Admission::kAdmitted);
    const auto& use = ledger.manager.group(0, kLossless);
    EXPECT_EQ(use.headroom_bytes, 2'000u);
    ledger.take_oldest();
    ledger.take_oldest();
    EXPECT_EQ(use.headroom_bytes, 0u);
    EXPECT_EQ(use.shared_bytes, 10'000u);
    for (int i = 0; i < 10; ++i) ledger.take_oldest();
    EXPECT_EQ(use.shared_bytes, 0u);
    EXPECT_EQ(use.reserved_bytes, 1'000u);
    ledger.take_oldest();
    EXPECT_EQ(use.bytes(), 0u);
    EXPECT_EQ(use.headroom_bytes_max, 2'000u);
}

TEST(BufferManager, WhileHeadroomIsUsedEverythingGoesToHeadroom) {
    Ledger ledger(two_ports());
    for (int i = 0; i < 10; ++i) ASSERT_EQ(ledger.add(kLossless, 1'000), Admission::kAdmitted);
    ASSERT_EQ(ledger.add(kLossless, 1'500), Admission::kAdmitted);
    EXPECT_EQ(ledger.manager.group(0, kLossless).headroom_bytes, 1'500u);
    ASSERT_EQ(ledger.add(kLossless, 100), Admission::kAdmitted);
    EXPECT_EQ(ledger.manager.group(0, kLossless).shared_bytes, 9'000u);
    EXPECT_EQ(ledger.manager.group(0, kLossless).headroom_bytes, 1'600u);
}

TEST(BufferManager, DynamicThresholdsAreAPowerOfTwoOfWhatIsFree) {
    EXPECT_EQ((Threshold{.alpha_exponent = 0}).limit_bytes(8'000), 8'000u);
    EXPECT_EQ((Threshold{.alpha_exponent = -3}).limit_bytes(8'000), 1'000u);
    EXPECT_EQ((Threshold{.alpha_exponent = 3}).limit_bytes(8'000), 64'000u);
}

/// Equally greedy groups end at alpha S / (1 + N alpha) each (Choudhury and Hahne).
TEST(BufferManager, GreedyGroupsShareThePoolEqually) {
    for (const int exponent : {-2, 0, 1}) {
        BufferLimits limits = two_ports();
        for (auto& port : limits.ports) port.groups[kLossy]->shared = {.alpha_exponent = exponent, .static_bytes = 0};
        Ledger ledger(limits);
        for (int i = 0; i < 20'000; ++i) {
            static_cast<void>(ledger.add(kLossy, 64, 0));
            static_cast<void>(ledger.add(kLossy, 64, 1, 0));
        }
        const double alpha = exponent >= 0 ? 1 << exponent : 1.0 / (1 << -exponent);
        const double expected = alpha * 100'000 / (1 + 2 * alpha);
        EXPECT_NEAR(static_cast<double>(ledger.manager.group(0, kLossy).shared_bytes), expected, 130);
        EXPECT_NEAR(static_cast<double>(ledger.manager.group(1, kLossy).shared_bytes), expected, 130);
    }
}

TEST(BufferManager, AGroupWhoseThresholdShrinksUnderItIsFoundByUpdate) {
    BufferLimits limits = two_ports();
    for (auto& port : limits.ports) {
        port.groups[kLossless]->shared = {.alpha_exponent = 0, .static_bytes = 0};
        port.groups[kLossless]->reserved_bytes = 0;
        port.groups[kLossy]->shared = {.alpha_exponent = 3, .static_bytes = 0};
    }
    Ledger ledger(limits);
    for (int i = 0; i < 40; ++i) ASSERT_EQ(ledger.add(kLossless, 1'000, 0), Admission::kAdmitted);
    EXPECT_FALSE(ledger.congested(kLossless));
    for (int i = 0; i < 30; ++i) ASSERT_EQ(ledger.add(kLossy, 1'000, 1, 0), Admission::kAdmitted);
    EXPECT_FALSE(ledger.was_congested(kLossless)) << "nobody has looked";
    ledger.manager.update();
    EXPECT_TRUE(ledger.congested(kLossless)) << "40,000 held, 30,000 free";
}

TEST(BufferManager, ASharedHeadroomPoolIsFullForAll) {
    BufferLimits limits = two_ports();
    limits.pools[0].headroom_bytes = 6'000;
    Ledger ledger(limits);
    for (PortId in = 0; in < 2; ++in)
        for (int i = 0; i < 11; ++i)
            ASSERT_EQ(ledger.add(kLossless, 1'000, in, static_cast<PortId>(1 - in)), Admission::kAdmitted);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(ledger.add(kLossless, 1'000, 0), Admission::kAdmitted);
    EXPECT_EQ(ledger.add(kLossless, 1'000, 1, 0), Admission::kAdmitted);
    EXPECT_EQ(ledger.add(kLossless, 1'000, 1, 0), Admission::kHeadroomFull) << "its own 5,000 are not, the pool is";
}

TEST(BufferManager, AQueueHasItsOwnThreshold) {
    BufferLimits limits = two_ports();
    limits.pools.push_back({.shared_bytes = 50'000});
    limits.ports[1].queues[2] = QueueLimits{
        .pool = 1, .reserved_bytes = 500, .shared = {.alpha_exponent = std::nullopt, .static_bytes = 2'000}};
    Ledger ledger(limits);
    ASSERT_EQ(ledger.add(kLossless, 2'500, 0, 1, 2), Admission::kAdmitted);
    EXPECT_EQ(ledger.add(kLossless, 64, 0, 1, 2), Admission::kQueueFull);
    EXPECT_EQ(ledger.add(kLossless, 64, 0, 1, 3), Admission::kAdmitted);
    ledger.check();
    ledger.take_oldest();
    EXPECT_EQ(ledger.manager.queue(1, 2).bytes(), 0u);
    EXPECT_EQ(ledger.manager.queue(1, 2).bytes_max, 2'500u);
}

TEST(BufferManager, NewLimitsHoldAtOnceAndChargesStay) {
    Ledger ledger(two_ports());
    for (int i = 0; i < 8; ++i) ASSERT_EQ(ledger.add(kLossless, 1'000), Admission::kAdmitted);
    ASSERT_FALSE(ledger.congested(kLossless));
    BufferLimits smaller = two_ports();
    smaller.pools.insert(smaller.pools.begin(), PoolLimits{.shared_bytes = 1});
    for (auto& port : smaller.ports) {
        port.groups[kLossless]->pool = port.groups[kLossy]->pool = 1;
        port.groups[kLossless]->shared.static_bytes = 5'000;
    }
    ledger.manager.apply(smaller);
    EXPECT_TRUE(ledger.congested(kLossless));
    ledger.check();
    smaller.ports[0].groups[kLossless].reset();
    ledger.manager.apply(smaller);
    EXPECT_FALSE(ledger.congested(kLossless)) << "a group that is not accounted any more asks for nothing";
    ASSERT_EQ(ledger.add(kLossless, 1'000), Admission::kAdmitted) << "not charged";
    while (!ledger.held.empty()) ledger.take_oldest();
    EXPECT_EQ(ledger.manager.group(0, kLossless).bytes(), 0u);
    ledger.check();
}

/// All that the ledger says of itself, watermarks too.
std::vector<std::uint64_t> state_of(const BufferManager& manager) {
    std::vector<std::uint64_t> state;
    for (std::size_t p = 0; p < manager.limits().ports.size(); ++p) {
        const auto port = static_cast<PortId>(p);
        state.push_back(manager.congested_groups(port));
        for (unsigned i = 0; i < kPriorityGroups; ++i) {
            const PriorityGroupUse& group = manager.group(port, i);
            const QueueUse& queue = manager.queue(port, i);
            state.insert(state.end(),
                         {group.reserved_bytes, group.shared_bytes, group.headroom_bytes, group.shared_bytes_max,
                          group.headroom_bytes_max, queue.reserved_bytes, queue.shared_bytes, queue.bytes_max});
        }
    }
    for (std::size_t i = 0; i < manager.limits().pools.size(); ++i) {
        const PoolUse& pool = manager.pool(i);
        state.insert(state.end(),
                     {pool.shared_bytes, pool.headroom_bytes, pool.shared_bytes_max, pool.headroom_bytes_max});
    }
    return state;
}

/// Thresholds so near that runs of frames reach every one of them, static and dynamic ones, queues with and without.
BufferLimits tight_limits(Random& random, bool one_pool) {
    BufferLimits limits = two_ports();
    limits.pools = {{.shared_bytes = 60'000, .headroom_bytes = random.below(2) == 0 ? 0u : 6'000u}};
    if (!one_pool) limits.pools.push_back({.shared_bytes = 40'000});
    for (auto& port : limits.ports) {
        if (random.below(2) == 0) port.groups[kLossless]->shared.alpha_exponent = static_cast<int>(random.below(3)) - 1;
        if (random.below(2) == 0) port.groups[kLossy]->shared.alpha_exponent = static_cast<int>(random.below(3)) - 1;
        if (random.below(4) == 0) port.groups[kLossy].reset();
        for (unsigned q = 0; q < 2; ++q) {
            if (random.below(3) == 0) continue;
            port.queues[q] = QueueLimits{.pool = static_cast<std::uint8_t>(one_pool ? 0 : 1),
                                         .reserved_bytes = random.below(3'000),
                                         .shared = {.alpha_exponent = std::nullopt, .static_bytes = 15'000}};
            if (random.below(2) == 0) port.queues[q]->shared.alpha_exponent = 0;
        }
    }
    return limits;
}

class BufferRuns : public ::testing::TestWithParam<bool> {};

TEST_P(BufferRuns, AreChargedAndGivenBackAsTheirFramesOneByOne) {
    constexpr std::uint64_t kSeed = 20'261'207;
    SCOPED_TRACE(kSeed);
    Random random(kSeed);
    std::size_t whole_runs = 0;
    std::size_t refusals = 0;
    for (int world = 0; world < 50; ++world) {
        const BufferLimits limits = tight_limits(random, GetParam());
        BufferManager by_runs(limits);
        BufferManager one_by_one(limits);
        std::deque<std::unique_ptr<Packet>> in_runs;
        std::deque<std::unique_ptr<Packet>> singly;
        for (int step = 0; step < 400; ++step) {
            std::vector<std::unique_ptr<Packet>> run(1 + random.below(kBurst));
            Meta meta;
            meta.in_port = static_cast<PortId>(random.below(2));
            meta.out_port = static_cast<PortId>(random.below(2));
            meta.priority = static_cast<std::uint8_t>(random.below(2) == 0 ? kLossy : kLossless);
            meta.queue = static_cast<std::uint8_t>(random.below(3));
            std::vector<Packet*> packets;
            for (auto& packet : run) {
                packet = std::make_unique<Packet>();
                packet->length = static_cast<std::uint32_t>(60 + random.below(1'500));
                packet->meta = meta;
                packets.push_back(packet.get());
            }
            const bool all = by_runs.admit_all(packets);
            whole_runs += all ? 1 : 0;
            for (auto& packet : run) {
                auto twin = std::make_unique<Packet>();
                twin->length = packet->length;
                twin->meta = meta;
                const Admission expected = one_by_one.admit(*twin);
                const Admission verdict = all ? Admission::kAdmitted : by_runs.admit(*packet);
                ASSERT_EQ(verdict, expected) << "world " << world << " step " << step << (all ? " as a run" : "");
                if (verdict != Admission::kAdmitted) {
                    ++refusals;
                    continue;
                }
                ASSERT_EQ(packet->meta.charge_holders, twin->meta.charge_holders);
                in_runs.push_back(std::move(packet));
                singly.push_back(std::move(twin));
            }
            std::vector<Packet*> leaving;
            const std::size_t count = std::min<std::size_t>(random.below(kBurst), in_runs.size());
            for (std::size_t i = 0; i < count; ++i) {
                leaving.push_back(in_runs[i].get());
                one_by_one.release(*singly[i]);
            }
            by_runs.release_all(leaving);
            in_runs.erase(in_runs.begin(), in_runs.begin() + static_cast<std::ptrdiff_t>(count));
            singly.erase(singly.begin(), singly.begin() + static_cast<std::ptrdiff_t>(count));
            by_runs.update();
            one_by_one.update();
            ASSERT_EQ(state_of(by_runs), state_of(one_by_one)) << "world " << world << " step " << step;
        }
    }
    EXPECT_GT(whole_runs, 1'000u);
    EXPECT_GT(refusals, 1'000u);
}

INSTANTIATE_TEST_SUITE_P(Pools, BufferRuns, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "One" : "IngressAndEgress"; });

TEST(BufferManager, RandomTrafficAndChangesNeverBreakTheLedger) {
    const std::uint64_t seed = 20'241;
    SCOPED_TRACE(seed);
    Random random(seed);
    Ledger ledger(two_ports());
    for (int step = 0; step < 30'000; ++step) {
        const auto dice = random.next_u64() % 100;
        const auto in = static_cast<PortId>(random.next_u64() % 2);
        if (dice < 55) {
            static_cast<void>(ledger.add(random.next_u64() % 2 != 0 ? kLossless : kLossy,
                                         64 + static_cast<std::uint32_t>(random.next_u64() % 9'000), in,
                                         static_cast<PortId>(1 - in), static_cast<unsigned>(random.next_u64() % 8)));
        } else if (dice < 98 && !ledger.held.empty()) {
            std::swap(ledger.held.front(), ledger.held[random.next_u64() % ledger.held.size()]);
            ledger.take_oldest();
        } else if (dice == 99) {
            BufferLimits limits = two_ports();
            limits.cell_bytes = 1u << random.next_u64() % 9;
            limits.pools.push_back({.shared_bytes = random.next_u64() % 60'000});
            for (auto& port : limits.ports) {
                port.groups[kLossless]->shared.static_bytes = random.next_u64() % 30'000;
                port.groups[kLossless]->pool = static_cast<std::uint8_t>(random.next_u64() % 2);
                if (random.next_u64() % 4 == 0) port.groups[kLossy].reset();
                if (random.next_u64() % 2 == 0)
                    port.queues[5] = QueueLimits{.pool = 1, .shared = {.alpha_exponent = -1, .static_bytes = 0}};
            }
            ledger.manager.apply(limits);
        }
        if (step % 50 == 0) {
            ledger.manager.update();
            std::uint64_t charged = 0;
            for (const auto& packet : ledger.held)
                if ((packet->meta.charge_holders & 1) != 0) charged += packet->meta.charge_bytes;
            std::uint64_t held = 0;
            for (PortId p = 0; p < 2; ++p)
                for (unsigned g = 0; g < kPriorityGroups; ++g) held += ledger.manager.group(p, g).bytes();
            ASSERT_EQ(held, charged) << "step " << step;
        }
    }
    while (!ledger.held.empty()) ledger.take_oldest();
    ledger.check();
}

}  // namespace
}  // namespace vroce::sw
