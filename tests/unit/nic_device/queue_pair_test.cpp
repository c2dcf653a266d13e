// What a queue pair makes of rings that an application may write anything into.
#include "nic/device/queue_pair.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "common/base/random.hpp"
#include "nic/memory/process_memory.hpp"
#include "tests/unit/nic_device/rings.hpp"
#include "tests/unit/nic_memory/slices.hpp"

namespace vroce::nic {
namespace {

class QueuePairTest : public ::testing::Test {
protected:
    QueuePairTest() {
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<std::uint8_t>(i * 13);
        lkey = add_region(1, own.data(), own.size(), kAccessLocalWrite | kAccessRemoteWrite);
    }
    std::uint32_t add_region(PdId pd, const void* addr, std::size_t length, std::uint32_t access) {
        MemoryRegion region;
        region.pd = pd;
        region.addr = region.iova = reinterpret_cast<std::uint64_t>(addr);
        region.length = length;
        region.access = access;
        return regions.insert(std::move(region))->key;
    }
    static QpShape make_shape(QpMemory& memory) {
        QpShape shape;
        shape.pd = 1;
        shape.control = &memory.control;
        shape.sq = {memory.sq.data(), QpMemory::kSlots, QpMemory::kSqStride};
        shape.rq = {memory.rq.data(), QpMemory::kSlots, QpMemory::kRqStride};
        shape.max_send_sge = 3;
        shape.max_recv_sge = 3;
        shape.max_inline = 256;
        return shape;
    }
    [[nodiscard]] vroce_sge sge(std::size_t offset, std::uint32_t length) const {
        return {reinterpret_cast<std::uint64_t>(own.data()) + offset, length, lkey};
    }
    SendWqe fetch(std::uint32_t index, bool& valid) {
        SendWqe wqe;
        EXPECT_TRUE(qp.fetch_send(index, wqe, valid));
        return wqe;
    }
    CopyResult gather(const SendWqe& wqe, std::uint64_t offset, std::span<std::uint8_t> into) {
        return qp.gather(wqe, offset, {&into, 1});
    }

    std::array<std::uint8_t, 1'024> own{};
    MrTable regions{16, [random = Random(4)]() mutable { return static_cast<std::uint32_t>(random.next_u64()); }};
    std::uint32_t lkey = 0;
    PeerMemory memory{getpid()};
    QpMemory rings;
    CqMemory cq_memory{8};
    RecordingEvents events;
    DeviceCounters counters;
    CompletionQueue cq{cq_memory.ring(), CompletionQueue::kNoChannel, 1, events, counters};
    std::uint64_t now_ns = 0;
    QueuePair qp{make_shape(rings), cq, cq, {regions, memory, nullptr, events, counters, now_ns}};
};

TEST_F(QueuePairTest, GathersAcrossScatterEntriesFromAnyOffset) {
    vroce_send_wqe wqe{};
    wqe.opcode = VROCE_WR_SEND;
    wqe.sge_count = 3;
    rings.post_send(0, wqe, {sge(100, 10), sge(0, 0), sge(500, 30)});
    bool valid = false;
    const SendWqe fetched = fetch(0, valid);
    ASSERT_TRUE(valid);
    EXPECT_EQ(fetched.length, 40u);
    std::array<std::uint8_t, 20> out{};
    ASSERT_EQ(gather(fetched, 5, out), CopyResult::Done);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(out[i], own[i < 5 ? 105 + i : 500 + i - 5]) << i;
}

TEST_F(QueuePairTest, NothingPostedIsNothing) {
    SendWqe wqe;
    bool valid = true;
    EXPECT_FALSE(qp.fetch_send(0, wqe, valid));
    RecvWqe recv;
    EXPECT_FALSE(qp.fetch_recv(0, recv, valid));
}

TEST_F(QueuePairTest, AWqeThatIsNoneIsInvalidAndNotFollowed) {
    bool valid = true;
    vroce_send_wqe wqe{};
    wqe.opcode = 200;
    rings.post_send(0, wqe, {});
    static_cast<void>(fetch(0, valid));
    EXPECT_FALSE(valid) << "unknown opcode";
    wqe.opcode = VROCE_WR_SEND;
    wqe.sge_count = 4;
    rings.post_send(0, wqe, {});
    static_cast<void>(fetch(0, valid));
    EXPECT_FALSE(valid) << "more entries than the slot has";
    wqe.sge_count = 0;
    wqe.flags = VROCE_SEND_INLINE;
    wqe.inline_bytes = 257;
    rings.post_send(0, wqe, {});
    static_cast<void>(fetch(0, valid));
    EXPECT_FALSE(valid) << "more inline data than the slot has";
    wqe.inline_bytes = 8;
    wqe.opcode = VROCE_WR_RDMA_READ;
    rings.post_send(0, wqe, {});
    static_cast<void>(fetch(0, valid));
    EXPECT_FALSE(valid) << "a READ has no data to send";
    wqe = {};
    wqe.opcode = VROCE_WR_SEND;
    wqe.sge_count = 3;
    rings.post_send(0, wqe, {{1, 0xFFFF'FFFF, lkey}, {1, 0xFFFF'FFFF, lkey}, {1, 0xFFFF'FFFF, lkey}});
    static_cast<void>(fetch(0, valid));
    EXPECT_FALSE(valid) << "longer than 2^31";
}

TEST_F(QueuePairTest, AProducerThatJumpsAheadIsInvalid) {
    rings.control.sq_producer = QpMemory::kSlots + 1;
    bool valid = true;
    static_cast<void>(fetch(0, valid));
    EXPECT_FALSE(valid);
    EXPECT_EQ(counters[DeviceCounter::RingOverruns], 1u);
}

TEST_F(QueuePairTest, KeysDomainsAndBoundsAreCheckedWhenItIsRead) {
    const std::uint32_t foreign = add_region(2, own.data(), own.size(), kAccessLocalWrite);
    const auto outcome = [&](const vroce_sge& entry) {
        vroce_send_wqe wqe{};
        wqe.opcode = VROCE_WR_SEND;
        wqe.sge_count = 1;
        rings.post_send(0, wqe, {entry});
        bool valid = false;
        const SendWqe fetched = fetch(0, valid);
        std::array<std::uint8_t, 4> out{};
        return gather(fetched, 0, out);
    };
    EXPECT_EQ(outcome(sge(0, 4)), CopyResult::Done);
    EXPECT_EQ(outcome(sge(1'021, 4)), CopyResult::Fault);
    EXPECT_EQ(outcome({sge(0, 4).addr, 4, lkey ^ 0x10}), CopyResult::Fault);
    EXPECT_EQ(outcome({sge(0, 4).addr, 4, foreign}), CopyResult::Fault);
    EXPECT_EQ(outcome({~std::uint64_t{1}, 4, lkey}), CopyResult::Fault);
}

TEST_F(QueuePairTest, AListThatShrinksAfterItWasFetchedIsAFaultNotAReadBeyond) {
    vroce_send_wqe wqe{};
    wqe.opcode = VROCE_WR_SEND;
    wqe.sge_count = 1;
    rings.post_send(0, wqe, {sge(0, 100)});
    bool valid = false;
    const SendWqe fetched = fetch(0, valid);
    rings.post_send(0, wqe, {sge(0, 10)});
    std::array<std::uint8_t, 50> out{};
    EXPECT_EQ(gather(fetched, 0, out), CopyResult::Fault);
}

TEST_F(QueuePairTest, InlineDataComeFromTheSlot) {
    vroce_send_wqe wqe{};
    wqe.opcode = VROCE_WR_SEND;
    wqe.flags = VROCE_SEND_INLINE;
    wqe.inline_bytes = 5;
    rings.post_send(0, wqe, {});
    std::memcpy(rings.sq.data() + sizeof wqe, "hello", 5);
    bool valid = false;
    const SendWqe fetched = fetch(0, valid);
    ASSERT_TRUE(valid);
    std::array<std::uint8_t, 3> out{};
    ASSERT_EQ(gather(fetched, 2, out), CopyResult::Done);
    EXPECT_EQ(std::memcmp(out.data(), "llo", 3), 0);
}

TEST_F(QueuePairTest, WritingNeedsTheRight) {
    const std::uint32_t read_only = add_region(1, own.data(), own.size(), 0);
    const std::uint64_t va = reinterpret_cast<std::uint64_t>(own.data());
    const std::array<std::uint8_t, 2> bytes{0xAA, 0xBB};
    EXPECT_EQ(qp.check_remote(lkey, va, 2, kAccessRemoteWrite), RemoteAccess::Ok);
    EXPECT_EQ(qp.check_remote(lkey, va, 2, kAccessRemoteRead), RemoteAccess::NoPermission);
    EXPECT_EQ(qp.write_remote(lkey, va + 7, cut_into_slices(bytes), true), CopyResult::Done);
    EXPECT_EQ(own[7], 0xAA);
    EXPECT_EQ(own[8], 0xBB);
    EXPECT_EQ(qp.write_remote(read_only, va, cut_into_slices(bytes), true), CopyResult::Fault);
}

/// Memory of this process that is shared with the NIC, which is this process too.
class SharedRegionTest : public QueuePairTest {
protected:
    static constexpr std::size_t kBytes = 8'192;
    SharedRegionTest() : fd(memfd_create("shared", MFD_CLOEXEC)) {
        if (ftruncate(fd, kBytes) != 0) abort();
        bytes = static_cast<std::uint8_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        MemoryRegion region;
        region.pd = 1;
        region.addr = region.iova = reinterpret_cast<std::uint64_t>(bytes);
        region.length = kBytes;
        region.access = kAccessLocalWrite | kAccessRemoteWrite;
        region.mapping = MappedMemory::map(fd, 0, kBytes, true);
        if (region.mapping == nullptr) abort();
        shared_key = regions.insert(std::move(region))->key;
    }
    ~SharedRegionTest() override {
        munmap(bytes, kBytes);
        close(fd);
    }
    [[nodiscard]] vroce_sge shared(std::size_t offset, std::uint32_t length) const {
        return {reinterpret_cast<std::uint64_t>(bytes) + offset, length, shared_key};
    }
    /// A READ's response lands in the list, and is gathered from it again.
    void expect_round_trip(const std::vector<vroce_sge>& list, std::size_t total) {
        vroce_send_wqe wqe{};
        wqe.opcode = VROCE_WR_RDMA_READ;
        wqe.sge_count = static_cast<std::uint16_t>(list.size());
        rings.post_send(0, wqe, list);
        bool valid = false;
        const SendWqe fetched = fetch(0, valid);
        ASSERT_TRUE(valid);
        std::vector<std::uint8_t> message(total);
        for (std::size_t i = 0; i < total; ++i) message[i] = static_cast<std::uint8_t>(200 - i * 3);
        ASSERT_EQ(qp.scatter_read(fetched, 0, cut_into_slices(message), true), CopyResult::Done);
        std::vector<std::uint8_t> back(total);
        const std::array<std::span<std::uint8_t>, 3> slices{std::span(back).first(7), std::span(back).subspan(7, 60),
                                                            std::span(back).subspan(67)};
        ASSERT_EQ(qp.gather(fetched, 0, slices), CopyResult::Done);
        EXPECT_EQ(back, message);
    }
    int fd;
    std::uint8_t* bytes;
    std::uint32_t shared_key = 0;
};

TEST_F(SharedRegionTest, MappedAndOrdinaryMemoryMixInOneMessage) {
    expect_round_trip({sge(0, 40), shared(16, 100), sge(200, 20)}, 160);
    EXPECT_EQ(bytes[16], static_cast<std::uint8_t>(200 - 40 * 3));
    EXPECT_EQ(own[200], static_cast<std::uint8_t>(200 - 140 * 3));
}

TEST_F(SharedRegionTest, SeveralMappedPiecesAreOneMessage) {
    expect_round_trip({shared(4'000, 100), shared(0, 3), shared(101, 57)}, 160);
    EXPECT_EQ(bytes[101], static_cast<std::uint8_t>(200 - 103 * 3));
}

TEST_F(SharedRegionTest, MemoryThatWentRetiresItsRegionOnceAndForAll) {
    ASSERT_EQ(ftruncate(fd, 0), 0);
    const std::uint64_t va = reinterpret_cast<std::uint64_t>(bytes);
    const std::vector<std::uint8_t> data(100, 1);
    EXPECT_EQ(qp.write_remote(shared_key, va, cut_into_slices(data), true), CopyResult::Fault);
    ASSERT_EQ(ftruncate(fd, kBytes), 0);
    EXPECT_EQ(qp.write_remote(shared_key, va, cut_into_slices(data), true), CopyResult::Fault)
        << "it does not come back";
    EXPECT_EQ(counters[DeviceCounter::MappingsRetired], 1u);
    EXPECT_EQ(counters[DeviceCounter::CopyFaults], 2u);
    // Nor does it by way of system calls, in a message that ordinary memory has a part of.
    vroce_send_wqe wqe{};
    wqe.opcode = VROCE_WR_SEND;
    wqe.sge_count = 2;
    rings.post_send(0, wqe, {sge(0, 4), shared(0, 4)});
    bool valid = false;
    std::array<std::uint8_t, 8> out{};
    EXPECT_EQ(gather(fetch(0, valid), 0, out), CopyResult::Fault);
}

TEST_F(QueuePairTest, RefusedKeysAreCountedByReason) {
    const std::uint32_t foreign = add_region(2, own.data(), own.size(), kAccessLocalWrite);
    const std::uint32_t read_only = add_region(1, own.data(), own.size(), 0);
    const auto land = [&](const vroce_sge& entry) {
        std::memset(rings.rq.data(), 0, rings.rq.size());
        vroce_recv_wqe wqe{};
        wqe.sge_count = 1;
        std::memcpy(rings.rq.data(), &wqe, sizeof wqe);
        std::memcpy(rings.rq.data() + sizeof wqe, &entry, sizeof entry);
        rings.control.rq_producer = 1;
        RecvWqe fetched;
        bool valid = false;
        EXPECT_TRUE(qp.fetch_recv(0, fetched, valid));
        const std::array<std::uint8_t, 4> bytes{};
        return qp.scatter_recv(fetched, 0, cut_into_slices(bytes), true);
    };
    EXPECT_EQ(land(sge(0, 4)), CopyResult::Done);
    EXPECT_EQ(land({sge(0, 4).addr, 4, lkey ^ 0x100}), CopyResult::Fault);
    EXPECT_EQ(land({sge(0, 4).addr, 4, foreign}), CopyResult::Fault);
    EXPECT_EQ(land({sge(0, 4).addr, 4, read_only}), CopyResult::Fault);
    EXPECT_EQ(land(sge(1'022, 4)), CopyResult::Fault);
    EXPECT_EQ(counters[DeviceCounter::LocalKeyUnknown], 1u);
    EXPECT_EQ(counters[DeviceCounter::LocalKeyWrongPd], 1u);
    EXPECT_EQ(counters[DeviceCounter::LocalKeyNoPermission], 1u);
    EXPECT_EQ(counters[DeviceCounter::LocalKeyOutOfBounds], 1u);
}

TEST_F(QueuePairTest, ADrainedQueueIsToldOnlyToWhoAsked) {
    qp.async_event(AsyncEventType::SqDrained);
    EXPECT_TRUE(events.async.empty());
    qp.attr.en_sqd_async_notify = 1;
    qp.async_event(AsyncEventType::SqDrained);
    EXPECT_EQ(events.async.size(), 1u);
    EXPECT_EQ(qp.async_events(), 1u);
}

TEST_F(QueuePairTest, RandomSlotsNeverReachOutsideTheRegions) {
    Random random(99);
    for (int round = 0; round < 20'000; ++round) {
        for (std::uint8_t& byte : rings.sq) byte = static_cast<std::uint8_t>(random.next_u64());
        rings.control.sq_producer = static_cast<std::uint32_t>(random.below(6));
        SendWqe wqe;
        bool valid = false;
        if (!qp.fetch_send(0, wqe, valid) || !valid) continue;
        std::array<std::uint8_t, 64> out{};
        const std::size_t length = std::min<std::uint64_t>(out.size(), wqe.length);
        const auto part = std::span(out).first(length);
        const CopyResult result = gather(wqe, 0, part);
        const bool no_keys_needed = (wqe.flags & kSendInline) != 0 || length == 0;
        ASSERT_TRUE(result == CopyResult::Fault || no_keys_needed) << "round " << round << ", seed 99";
    }
}

}  // namespace
}  // namespace vroce::nic
