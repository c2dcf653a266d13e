// Two devices over real engines and a cable: rings at one end, completions and bytes at the other. Once with memory
// that answers at once, once with memory behind a copier.
#include <sys/mman.h>

#include "tests/unit/nic_device/host.hpp"

namespace vroce::nic {
namespace {

class EnginePair : public ::testing::TestWithParam<bool> {
protected:
    EnginePair() {
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
        source_key = a.register_memory(source.data(), source.size());
        target_key = b.register_memory(target.data(), target.size());
        qp_a = a.make_qp();
        qp_b = b.make_qp();
        a.to_init(*qp_a);
        b.to_init(*qp_b);
        a.to_rtr(*qp_a, 2, qp_b->qpn);
        b.to_rtr(*qp_b, 1, qp_a->qpn);
        a.to_rts(*qp_a);
        b.to_rts(*qp_b);
    }
    static Host::MakeMemory way() {
        if (!GetParam()) return nullptr;
        return [] { return std::make_unique<PeerMemory>(getpid()); };
    }
    [[nodiscard]] vroce_sge local(std::size_t offset, std::uint32_t length) const {
        return {reinterpret_cast<std::uint64_t>(source.data()) + offset, length, source_key};
    }
    [[nodiscard]] vroce_sge remote(std::size_t offset, std::uint32_t length) const {
        return {reinterpret_cast<std::uint64_t>(target.data()) + offset, length, target_key};
    }
    [[nodiscard]] vroce_send_wqe request(vroce_opcode opcode, std::size_t offset = 0) const {
        vroce_send_wqe wqe{};
        wqe.wr_id = 0x55;
        wqe.opcode = static_cast<std::uint8_t>(opcode);
        wqe.flags = VROCE_SEND_SIGNALED;
        wqe.remote_addr = reinterpret_cast<std::uint64_t>(target.data()) + offset;
        wqe.rkey = target_key;
        return wqe;
    }
    void expect_status(Host& host, WcStatus status) {
        const std::vector<vroce_cqe> entries = host.poll();
        ASSERT_EQ(entries.size(), 1u);
        EXPECT_EQ(entries[0].status, static_cast<std::uint8_t>(status));
    }

    std::array<std::uint8_t, 8'192> source{};
    std::array<std::uint8_t, 8'192> target{};
    Host a{1, way()};
    Host b{2, way()};
    std::uint32_t source_key = 0;
    std::uint32_t target_key = 0;
    std::unique_ptr<TestQp> qp_a;
    std::unique_ptr<TestQp> qp_b;
};

TEST_P(EnginePair, AMessageOfThreePiecesLandsInTwo) {
    b.post_receive(*qp_b, 0x77, {remote(5'000, 1'500), remote(10, 4'000)});
    vroce_send_wqe wqe = request(VROCE_WR_SEND_WITH_IMM);
    wqe.imm = 0x1234'5678;
    a.post_send(*qp_a, wqe, {local(1, 1'000), local(4'000, 1'999), local(3'000, 1)});
    run(a, b);
    expect_status(a, WcStatus::Success);
    const std::vector<vroce_cqe> received = b.poll();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].wr_id, 0x77u);
    EXPECT_EQ(received[0].byte_len, 3'000u);
    EXPECT_EQ(received[0].imm, 0x1234'5678u);
    EXPECT_EQ(received[0].flags, VROCE_WC_WITH_IMM | VROCE_WC_RECV);
    EXPECT_EQ(received[0].qpn, qp_b->qpn);
    EXPECT_EQ(received[0].qp_slot, qp_b->slot);
    for (std::size_t i = 0; i < 3'000; ++i) {
        const std::size_t from = i < 1'000 ? 1 + i : i < 2'999 ? 3'000 + i : 3'000;
        const std::size_t to = i < 1'500 ? 5'000 + i : 10 + i - 1'500;
        ASSERT_EQ(target[to], source[from]) << i;
    }
}

TEST_P(EnginePair, WriteThenReadBack) {
    a.post_send(*qp_a, request(VROCE_WR_RDMA_WRITE, 100), {local(0, 5'000)});
    run(a, b);
    expect_status(a, WcStatus::Success);
    ASSERT_EQ(std::memcmp(target.data() + 100, source.data(), 5'000), 0);
    const std::array<std::uint8_t, 8'192> before = source;
    source.fill(0);
    a.post_send(*qp_a, request(VROCE_WR_RDMA_READ, 100), {local(0, 3'000), local(3'000, 2'000)});
    run(a, b);
    expect_status(a, WcStatus::Success);
    EXPECT_EQ(std::memcmp(source.data(), before.data(), 5'000), 0);
}

TEST_P(EnginePair, InlineDataMayChangeAfterItWasPosted) {
    vroce_send_wqe wqe = request(VROCE_WR_RDMA_WRITE);
    wqe.flags |= VROCE_SEND_INLINE;
    wqe.inline_bytes = 5;
    std::memcpy(qp_a->rings.sq.data() + sizeof wqe, "hello", 5);
    a.post_send(*qp_a, wqe, {});
    run(a, b);
    expect_status(a, WcStatus::Success);
    EXPECT_EQ(std::memcmp(target.data(), "hello", 5), 0);
}

TEST_P(EnginePair, AForeignLocalKeyIsAProtectionError) {
    vroce_sge wrong = local(0, 8);
    wrong.lkey ^= 1;
    a.post_send(*qp_a, request(VROCE_WR_RDMA_WRITE), {wrong});
    run(a, b);
    expect_status(a, WcStatus::LocProtErr);
    EXPECT_EQ(a.state(*qp_a), QpState::Err);
    EXPECT_EQ(a.count(DeviceCounter::LocalKeyUnknown), 1u);
}

TEST_P(EnginePair, AForeignRemoteKeyIsAnAccessErrorAtBothEnds) {
    vroce_send_wqe wqe = request(VROCE_WR_RDMA_WRITE);
    wqe.rkey ^= 1;
    a.post_send(*qp_a, wqe, {local(0, 8)});
    run(a, b);
    expect_status(a, WcStatus::RemAccessErr);
    EXPECT_EQ(b.state(*qp_b), QpState::Err);
    ASSERT_EQ(b.events.async.size(), 1u);
    EXPECT_EQ(b.events.async[0].event_type, static_cast<std::uint32_t>(AsyncEventType::QpAccessErr));
    EXPECT_EQ(b.events.async[0].element, 0xABCu);
    EXPECT_EQ(target[0], 0);
}

TEST_P(EnginePair, ARegionOfAnotherDomainIsNone) {
    std::uint32_t other_pd = 0;
    ASSERT_EQ(b.device.alloc_pd(*b.context, other_pd), 0);
    std::swap(b.pd, other_pd);
    target_key = b.register_memory(target.data(), target.size());
    a.post_send(*qp_a, request(VROCE_WR_RDMA_WRITE), {local(0, 8)});
    run(a, b);
    expect_status(a, WcStatus::RemAccessErr);
    EXPECT_EQ(target[0], 0);
}

TEST_P(EnginePair, ADeregisteredRegionIsNone) {
    ASSERT_EQ(b.device.dereg_mr(*b.context, b.last_mr), 0);
    a.post_send(*qp_a, request(VROCE_WR_RDMA_WRITE), {local(0, 8)});
    run(a, b);
    expect_status(a, WcStatus::RemAccessErr);
}

TEST_P(EnginePair, UnmappedMemoryUnderAGoodKeyIsAProtectionError) {
    void* page = mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const std::uint32_t key = a.register_memory(page, 4'096);
    munmap(page, 4'096);
    a.post_send(*qp_a, request(VROCE_WR_RDMA_WRITE), {{reinterpret_cast<std::uint64_t>(page), 8, key}});
    run(a, b);
    expect_status(a, WcStatus::LocProtErr);
    EXPECT_EQ(a.count(DeviceCounter::CopyFaults), 1u);
}

TEST_P(EnginePair, AWqeThatIsNoneIsAnOperationError) {
    vroce_send_wqe wqe = request(VROCE_WR_RDMA_WRITE);
    wqe.opcode = 77;
    a.post_send(*qp_a, wqe, {local(0, 8)});
    run(a, b);
    expect_status(a, WcStatus::LocQpOpErr);
    EXPECT_EQ(a.count(DeviceCounter::BadSendWqes), 1u);
}

TEST_P(EnginePair, WhatIsPostedToAQueuePairInErrorIsFlushed) {
    ASSERT_EQ(b.modify(*qp_b, QpState::Err), 0);
    EXPECT_TRUE(b.poll().empty());
    b.post_receive(*qp_b, 1, {remote(0, 8)});
    b.post_receive(*qp_b, 2, {remote(0, 8)});
    b.ring(*qp_b);
    run(a, b);
    const std::vector<vroce_cqe> flushed = b.poll();
    ASSERT_EQ(flushed.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(flushed[i].wr_id, i + 1);
        EXPECT_EQ(flushed[i].status, static_cast<std::uint8_t>(WcStatus::WrFlushErr));
    }
}

TEST_P(EnginePair, ACompletionQueueThatNobodyPollsEndsItsQueuePair) {
    // 64 entries: each message takes one.
    for (int i = 0; i < 70 && a.state(*qp_a) == QpState::Rts; ++i) {
        a.post_send(*qp_a, request(VROCE_WR_RDMA_WRITE), {local(0, 8)});
        run(a, b);
    }
    EXPECT_EQ(a.state(*qp_a), QpState::Err);
    ASSERT_EQ(a.events.async.size(), 1u);
    EXPECT_EQ(a.events.async[0].event_type, static_cast<std::uint32_t>(AsyncEventType::CqErr));
    EXPECT_EQ(a.events.async[0].element, 0xC0u);
    EXPECT_EQ(a.count(DeviceCounter::CompletionQueueOverflows), 1u);
    EXPECT_EQ(a.poll().size(), 64u);
}

TEST_P(EnginePair, AnArmedQueueTellsItsChannel) {
    a.cq_memory.control.armed = VROCE_ARM_NEXT;
    b.cq_memory.control.armed = VROCE_ARM_SOLICITED;
    for (const bool solicited : {false, true}) {
        b.post_receive(*qp_b, 1, {remote(0, 8)});
        vroce_send_wqe wqe = request(VROCE_WR_SEND);
        if (solicited) wqe.flags |= VROCE_SEND_SOLICITED;
        a.post_send(*qp_a, wqe, {local(0, 8)});
        run(a, b);
        EXPECT_EQ(b.events.comp.size(), solicited ? 1u : 0u);
    }
    EXPECT_EQ(a.events.comp.size(), 1u);
}

TEST_P(EnginePair, DestroyingInTheMiddleFreesEveryPacket) {
    for (int i = 0; i < 3; ++i) a.post_send(*qp_a, request(VROCE_WR_RDMA_WRITE), {local(0, 8'000)});
    a.device.scan_doorbells(a.now);
    std::array<Packet*, 4> burst{};
    const std::size_t count = a.engine.transmit(a.now, burst);
    b.engine.receive(b.now, std::span(burst).first(count));
    std::uint32_t events = 0;
    ASSERT_EQ(a.device.destroy_qp(*a.context, qp_a->handle, events), 0);
    b.device.close_context(b.context);
    // What it had acknowledged it still says.
    const std::size_t last_words = b.engine.transmit(b.now, burst);
    for (std::size_t i = 0; i < last_words; ++i) b.pool.free(burst[i]);
    EXPECT_EQ(a.pool.in_use(), 0u);
    EXPECT_EQ(b.pool.in_use(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Memory, EnginePair, ::testing::Bool(), [](const ::testing::TestParamInfo<bool>& way) {
    return std::string(way.param ? "BehindACopier" : "AtOnce");
});

}  // namespace
}  // namespace vroce::nic
