// Objects, their limits and their ends, over a real engine.
#include "nic/device/device.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "common/base/random.hpp"
#include "common/packet/slab_pool.hpp"
#include "nic/memory/process_memory.hpp"
#include "tests/unit/nic_device/rings.hpp"

namespace vroce::nic {
namespace {

class DeviceTest : public ::testing::Test {
protected:
    Context* open() {
        ContextResources resources;
        resources.doorbells = &doorbells;
        resources.memory = std::make_unique<PeerMemory>(getpid());
        resources.events = &events;
        return device.open_context(std::move(resources));
    }
    std::uint32_t make_pd(Context& context) {
        std::uint32_t handle = 0;
        EXPECT_EQ(device.alloc_pd(context, handle), 0);
        return handle;
    }
    std::uint32_t make_cq(Context& context) {
        std::uint32_t handle = 0;
        EXPECT_EQ(device.create_cq(context, cq_memory.ring(), CompletionQueue::kNoChannel, 0xC0, handle), 0);
        return handle;
    }
    int make_qp(Context& context, std::uint32_t pd, std::uint32_t cq, std::uint32_t& handle) {
        vroce_create_qp request{};
        request.pd = pd;
        request.send_cq = request.recv_cq = cq;
        request.qp_type = 2;
        QpPlan plan;
        EXPECT_EQ(Device::plan_qp(request, plan), 0);
        plan.sq_slots = plan.rq_slots = QpMemory::kSlots;
        plan.sq_stride = QpMemory::kSqStride;
        plan.rq_stride = QpMemory::kRqStride;
        std::uint32_t qpn = 0;
        std::uint32_t slot = 0;
        return device.create_qp(context, request, plan, &rings.control, rings.sq.data(), rings.rq.data(), handle, qpn,
                                slot);
    }
    int to_init(Context& context, std::uint32_t qp) {
        vroce_qp_attr attr{};
        vroce_qp_attr result{};
        attr.qp_state = 1;
        attr.port_num = 1;
        return device.modify_qp(context, Instant{}, qp, 1 | 1u << 3 | 1u << 4 | 1u << 5, attr, nullptr, result);
    }

    SlabPool pool{64};
    Engine engine{EngineConfig{}, pool};
    vroce_doorbell_page doorbells{};
    RecordingEvents events;
    CqMemory cq_memory{8};
    QpMemory rings;
    Device device{engine, [random = Random(1)]() mutable { return static_cast<std::uint32_t>(random.next_u64()); }};
};

TEST_F(DeviceTest, WhatIsInUseIsBusy) {
    Context& context = *open();
    const std::uint32_t pd = make_pd(context);
    const std::uint32_t cq = make_cq(context);
    std::uint32_t qp = 0;
    ASSERT_EQ(make_qp(context, pd, cq, qp), 0);
    std::uint32_t comp = 0;
    std::uint32_t async = 0;
    EXPECT_EQ(device.dealloc_pd(context, pd), EBUSY);
    EXPECT_EQ(device.destroy_cq(context, cq, comp, async), EBUSY);
    EXPECT_EQ(device.destroy_qp(context, qp, async), 0);
    EXPECT_EQ(device.destroy_cq(context, cq, comp, async), 0);
    EXPECT_EQ(device.dealloc_pd(context, pd), 0);
    EXPECT_EQ(device.dealloc_pd(context, pd), EINVAL) << "a handle dies with its object";
}

TEST_F(DeviceTest, HandlesOfOneContextMeanNothingInAnother) {
    Context& mine = *open();
    Context& theirs = *open();
    const std::uint32_t pd = make_pd(mine);
    EXPECT_EQ(device.dealloc_pd(theirs, pd), EINVAL);
    MrRequest request;
    request.pd = pd;
    std::uint32_t handle = 0;
    std::uint32_t key = 0;
    EXPECT_EQ(device.reg_mr(theirs, std::move(request), handle, key), EINVAL);
}

TEST_F(DeviceTest, AnOldHandleIsNotTheNewObjectInItsPlace) {
    Context& context = *open();
    const std::uint32_t old_pd = make_pd(context);
    ASSERT_EQ(device.dealloc_pd(context, old_pd), 0);
    const std::uint32_t new_pd = make_pd(context);
    EXPECT_NE(old_pd, new_pd);
    EXPECT_EQ(device.dealloc_pd(context, old_pd), EINVAL);
    EXPECT_EQ(device.dealloc_pd(context, new_pd), 0);
}

TEST_F(DeviceTest, RegionsAreRefusedAsVerbsSays) {
    Context& context = *open();
    const std::uint32_t pd = make_pd(context);
    const auto reg = [&](std::uint64_t addr, std::uint64_t length, std::uint32_t access) {
        MrRequest request;
        request.pd = pd;
        request.addr = request.iova = addr;
        request.length = length;
        request.access = access;
        std::uint32_t handle = 0;
        std::uint32_t key = 0;
        return device.reg_mr(context, std::move(request), handle, key);
    };
    EXPECT_EQ(reg(0x1000, 100, kAccessLocalWrite), 0);
    EXPECT_EQ(reg(~std::uint64_t{0} - 10, 100, 0), EINVAL) << "wraps";
    EXPECT_EQ(reg(0x1000, 100, kAccessRemoteWrite), EINVAL) << "remote write without local write (IBTA 10.6.3)";
    EXPECT_EQ(reg(0x1000, 100, 1u << 6), EOPNOTSUPP) << "on-demand paging";
    EXPECT_EQ(reg(0x1000, 100, kAccessLocalWrite | 1u << 20), 0) << "relaxed ordering may be ignored";
}

TEST_F(DeviceTest, ADeadApplicationLeavesNothing) {
    Context* context = open();
    const std::uint32_t pd = make_pd(*context);
    const std::uint32_t cq = make_cq(*context);
    for (int i = 0; i < 100; ++i) {
        std::uint32_t qp = 0;
        ASSERT_EQ(make_qp(*context, pd, cq, qp), 0);
        if (i % 2 == 0) {
            ASSERT_EQ(to_init(*context, qp), 0);
        }
        MrRequest request;
        request.pd = pd;
        request.length = 10;
        std::uint32_t handle = 0;
        std::uint32_t key = 0;
        ASSERT_EQ(device.reg_mr(*context, std::move(request), handle, key), 0);
    }
    EXPECT_EQ(device.qp_count(), 100u);
    device.close_context(context);
    EXPECT_EQ(device.qp_count(), 0u);
    EXPECT_EQ(device.mr_count(), 0u);
    EXPECT_EQ(device.context_count(), 0u);
}

TEST_F(DeviceTest, EachLimitHoldsAndRefusesCleanly) {
    Context& context = *open();
    const std::uint32_t pd = make_pd(context);
    const std::uint32_t cq = make_cq(context);
    std::uint32_t handle = 0;
    for (std::uint32_t i = 1; i < Limits::kPds; ++i) ASSERT_EQ(device.alloc_pd(context, handle), 0);
    EXPECT_EQ(device.alloc_pd(context, handle), ENOMEM);
    const auto create_cq = [&] {
        return device.create_cq(context, cq_memory.ring(), CompletionQueue::kNoChannel, 1, handle);
    };
    for (std::uint32_t i = 1; i < Limits::kCqs; ++i) ASSERT_EQ(create_cq(), 0);
    EXPECT_EQ(create_cq(), ENOMEM);
    const auto reg_mr = [&] {
        MrRequest request;
        request.pd = pd;
        request.length = 1;
        std::uint32_t key = 0;
        return device.reg_mr(context, std::move(request), handle, key);
    };
    for (std::uint32_t i = 0; i < Limits::kMrs; ++i) ASSERT_EQ(reg_mr(), 0);
    EXPECT_EQ(reg_mr(), ENOMEM);
    for (std::uint32_t i = 0; i < Limits::kQps; ++i) ASSERT_EQ(make_qp(context, pd, cq, handle), 0);
    std::uint32_t one_more = 0;
    EXPECT_EQ(make_qp(context, pd, cq, one_more), ENOMEM);
    Context& other = *open();
    EXPECT_EQ(device.alloc_pd(other, one_more), ENOMEM) << "a limit of the device, not of a context";
    EXPECT_EQ(device.counters()[DeviceCounter::RefusedFull], 5u);
    std::uint32_t async = 0;
    ASSERT_EQ(device.destroy_qp(context, handle, async), 0);
    EXPECT_EQ(make_qp(context, pd, cq, handle), 0) << "and what was given back is there again";
}

TEST_F(DeviceTest, ALargeContextGoesInSteps) {
    Context* context = open();
    const std::uint32_t pd = make_pd(*context);
    const std::uint32_t cq = make_cq(*context);
    std::uint32_t handle = 0;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(make_qp(*context, pd, cq, handle), 0);
    ASSERT_EQ(device.destroy_qp(*context, handle, handle), 0);
    for (int i = 0; i < 50; ++i) {
        MrRequest request;
        request.pd = pd;
        std::uint32_t key = 0;
        ASSERT_EQ(device.reg_mr(*context, std::move(request), handle, key), 0);
    }
    doorbells.summary[0] = 1;
    doorbells.leaf[0] = ~std::uint64_t{0};
    int steps = 1;
    for (; !device.close_some(context, 40); ++steps) {
        EXPECT_EQ(device.qp_count() + device.mr_count(), 149u - 40u * static_cast<unsigned>(steps));
        EXPECT_FALSE(device.scan_doorbells(Instant{})) << "what is being closed is not served";
    }
    EXPECT_EQ(steps, 4);
    EXPECT_EQ(device.context_count(), 0u);
    EXPECT_EQ(device.qp_count() + device.mr_count(), 0u);
    std::uint32_t again = 0;
    EXPECT_EQ(device.alloc_pd(*open(), again), 0);
}

TEST_F(DeviceTest, DomainNumbersAreUsedAgainOnlyWhenNothingRefersToThem) {
    Context& mine = *open();
    Context& theirs = *open();
    const std::uint32_t held = make_pd(mine);
    MrRequest request;
    request.pd = held;
    request.length = 1;
    std::uint32_t handle = 0;
    std::uint32_t key = 0;
    ASSERT_EQ(device.reg_mr(mine, std::move(request), handle, key), 0);
    for (int i = 0; i < 1'000; ++i) {
        const std::uint32_t pd = make_pd(theirs);
        MrRequest other;
        other.pd = pd;
        other.length = 1;
        std::uint32_t mr = 0;
        ASSERT_EQ(device.reg_mr(theirs, std::move(other), mr, key), 0);
        device.for_each_mr([&, seen = std::set<PdId>()](const MemoryRegion& region) mutable {
            EXPECT_TRUE(seen.insert(region.pd).second) << "two domains of one number";
        });
        ASSERT_EQ(device.dereg_mr(theirs, mr), 0);
        ASSERT_EQ(device.dealloc_pd(theirs, pd), 0);
    }
}

TEST_F(DeviceTest, MappingsThatGoAreGivenToWhoeverHasTheTime) {
    const int fd = memfd_create("shared", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, 8'192), 0);
    Context* context = open();
    const std::uint32_t pd = make_pd(*context);
    const auto reg_mapped = [&] {
        MrRequest request;
        request.pd = pd;
        request.length = 8'192;
        request.mapping = MappedMemory::map(fd, 0, 8'192, false);
        std::uint32_t handle = 0;
        std::uint32_t key = 0;
        EXPECT_EQ(device.reg_mr(*context, std::move(request), handle, key), 0);
        return handle;
    };
    RetiredMappings retired;
    ASSERT_EQ(device.dereg_mr(*context, reg_mapped(), &retired), 0);
    EXPECT_EQ(retired.size(), 1u);
    static_cast<void>(reg_mapped());
    static_cast<void>(reg_mapped());
    device.close_context(context, &retired);
    EXPECT_EQ(retired.size(), 3u);
    close(fd);
}

TEST_F(DeviceTest, RefusalsAreCountedByReason) {
    Context& context = *open();
    std::uint32_t handle = 0;
    std::uint32_t key = 0;
    const std::uint32_t pd = make_pd(context);
    static_cast<void>(device.dealloc_pd(context, 0xFFFF'FFFF));
    static_cast<void>(device.dereg_mr(context, 5));
    MrRequest wrong;
    wrong.pd = pd;
    wrong.access = kAccessRemoteWrite;
    static_cast<void>(device.reg_mr(context, std::move(wrong), handle, key));
    ASSERT_EQ(make_qp(context, pd, make_cq(context), handle), 0);
    static_cast<void>(device.dealloc_pd(context, pd));
    EXPECT_EQ(device.counters()[DeviceCounter::RefusedHandle], 2u);
    EXPECT_EQ(device.counters()[DeviceCounter::RefusedArgument], 1u);
    EXPECT_EQ(device.counters()[DeviceCounter::RefusedBusy], 1u);
}

TEST_F(DeviceTest, BitsOfNoQueuePairAreIgnored) {
    open();
    for (auto& word : doorbells.summary) word = ~std::uint64_t{0};
    for (auto& word : doorbells.leaf) word = ~std::uint64_t{0};
    EXPECT_FALSE(device.scan_doorbells(Instant{}));
    for (const auto word : doorbells.leaf) EXPECT_EQ(word, 0u) << "but taken, so that they are seen once";
}

TEST_F(DeviceTest, PlansGiveAtLeastWhatWasAskedAndKeepTheLimits) {
    vroce_create_qp request{};
    request.qp_type = 2;
    request.max_send_wr = 100;
    request.max_recv_wr = 1;
    request.max_send_sge = 5;
    request.max_inline = 236;
    QpPlan plan;
    ASSERT_EQ(Device::plan_qp(request, plan), 0);
    EXPECT_EQ(plan.sq_slots, 128u);
    EXPECT_EQ(plan.rq_slots, 1u);
    EXPECT_GE(plan.max_inline, 236u);
    EXPECT_GE(plan.sq_stride, sizeof(vroce_send_wqe) + plan.max_inline);
    EXPECT_GE(plan.sq_stride, sizeof(vroce_send_wqe) + plan.max_send_sge * sizeof(vroce_sge));
    request.max_inline = Limits::kInlineBytes + 1;
    EXPECT_EQ(Device::plan_qp(request, plan), EINVAL);
    request.max_inline = 0;
    request.max_send_sge = Limits::kSge + 1;
    EXPECT_EQ(Device::plan_qp(request, plan), EINVAL);
    request.max_send_sge = 1;
    request.max_send_wr = Limits::kQpWr + 1;
    EXPECT_EQ(Device::plan_qp(request, plan), EINVAL);
    request.max_send_wr = 1;
    request.qp_type = 77;
    EXPECT_EQ(Device::plan_qp(request, plan), EOPNOTSUPP);
    std::uint32_t slots = 0;
    EXPECT_EQ(Device::plan_cq(0, 0, slots), EINVAL);
    EXPECT_EQ(Device::plan_cq(Limits::kCqes + 1, 0, slots), EINVAL);
    EXPECT_EQ(Device::plan_cq(1, Limits::kCompVectors, slots), EINVAL);
    EXPECT_EQ(Device::plan_cq(1'000'000, 0, slots), 0);
    EXPECT_EQ(slots, 1u << 20);
}

TEST_F(DeviceTest, AttributesOutOfRangeAreRefusedAndChangeNothing) {
    Context& context = *open();
    std::uint32_t qp = 0;
    ASSERT_EQ(make_qp(context, make_pd(context), make_cq(context), qp), 0);
    ASSERT_EQ(to_init(context, qp), 0);
    vroce_qp_attr attr{};
    vroce_qp_attr result{};
    const ResolvedPath path{};
    constexpr std::uint32_t kRtr = 1 | 1u << 7 | 1u << 8 | 1u << 20 | 1u << 12 | 1u << 17 | 1u << 15;
    attr.qp_state = 2;
    attr.path_mtu = 5;
    attr.ah_port_num = 1;
    const auto modify = [&] { return device.modify_qp(context, Instant{}, qp, kRtr, attr, &path, result); };
    EXPECT_EQ(modify(), EINVAL) << "no GRH: nowhere on RoCE";
    attr.ah_is_global = 1;
    attr.dest_qp_num = 1u << 24;
    EXPECT_EQ(modify(), EINVAL);
    attr.dest_qp_num = 9;
    attr.path_mtu = 6;
    EXPECT_EQ(modify(), EINVAL);
    attr.path_mtu = 5;
    attr.max_dest_rd_atomic = Limits::kRdAtomic + 1;
    EXPECT_EQ(modify(), EINVAL);
    attr.max_dest_rd_atomic = 1;
    ASSERT_EQ(device.query_qp(context, qp, result), 0);
    EXPECT_EQ(result.qp_state, 1u);
    EXPECT_EQ(result.dest_qp_num, 0u);
    EXPECT_EQ(modify(), 0);
    EXPECT_EQ(result.qp_state, 2u);
    EXPECT_EQ(result.dest_qp_num, 9u);
}

TEST(UdpSourcePort, IsTheSameFromBothEndsAndInItsRange) {
    EXPECT_EQ(udp_source_port(0, 0x123, 0x456), udp_source_port(0, 0x456, 0x123));
    EXPECT_EQ(udp_source_port(0x12345, 1, 2), ((0x12345 & 0x3FFF) ^ (0x12345 >> 14)) | 0xC000);
    Random random(8);
    for (int i = 0; i < 1'000; ++i) {
        const auto a = static_cast<std::uint32_t>(random.below(1 << 24));
        const auto b = static_cast<std::uint32_t>(random.below(1 << 24));
        EXPECT_GE(udp_source_port(static_cast<std::uint32_t>(random.below(1 << 20)), a, b), 0xC000);
    }
}

}  // namespace
}  // namespace vroce::nic
