// Cases that went wrong in other devices (facts of the project, by their row numbers), each run as the report had it.
#include <gtest/gtest.h>

#include "nic/transport/timing.hpp"
#include "tests/protocol/kit/fabric.hpp"
#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

TEST(KnownFailure, Row1WriteLargerThanTheMtu) {
    Fabric f({.mtu = 1'024});
    f.a.envs[0]->post(WrOpcode::Write, pattern(1'025));
    f.ring_all();
    ASSERT_TRUE(f.run());
    EXPECT_EQ(f.a.envs[0]->completions.at(0).status, WcStatus::Success);
    const auto data = pattern(1'025);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), f.b.envs[0]->region.begin()));
}

TEST(KnownFailure, Row2NoSizeHangs) {
    for (const std::uint32_t mtu : {256U, 1'024U, 4'096U})
        for (const std::size_t size : {1'025U, 2'049U, 4'097U, 65'537U, 1'048'577U, 3'000'000U}) {
            Fabric f({.mtu = mtu});
            for (TestEnv* env : {f.a.envs[0].get(), f.b.envs[0].get()}) env->region = pattern(size, 9);
            f.b.envs[0]->post_receive(size);
            f.a.envs[0]->post(WrOpcode::Send, pattern(size, 2));
            f.a.envs[0]->post(WrOpcode::Read, std::vector<std::uint8_t>(size));
            f.a.envs[0]->post(WrOpcode::Write, pattern(size, 3), kSendSignaled | kSendFence);
            f.ring_all();
            ASSERT_TRUE(f.run()) << size;
            EXPECT_EQ(f.a.envs[0]->completions.size(), 3U);
            EXPECT_TRUE(f.b.envs[0]->receives[0].room == pattern(size, 2));
            EXPECT_TRUE(f.a.envs[0]->sends[1].data == pattern(size, 9));
            EXPECT_TRUE(f.b.envs[0]->region == pattern(size, 3));
        }
}

TEST(KnownFailure, Row4And8ProgressUnderHeavyLossOnManyQueuePairs) {
    Fabric f({.seed = 4, .faults = {.drop = 0.05}, .mtu = 4'096, .pairs = 32});
    const std::size_t size = 256 * 1'024;
    for (std::size_t i = 0; i < 32; ++i) {
        f.b.envs[i]->region.resize(size);
        f.a.envs[i]->post(WrOpcode::Write, pattern(size, static_cast<std::uint32_t>(i)));
    }
    f.ring_all();
    ASSERT_TRUE(f.run());
    for (std::size_t i = 0; i < 32; ++i) {
        ASSERT_EQ(f.a.envs[i]->completions.size(), 1U);
        EXPECT_EQ(f.a.envs[i]->completions[0].status, WcStatus::Success);
        EXPECT_TRUE(f.b.envs[i]->region == pattern(size, static_cast<std::uint32_t>(i)));
    }
    // Go-back-N resends what was in flight; it must not become a multiple of the data.
    const EngineCounters& counters = f.a.engine.counters();
    EXPECT_LT(counters[EngineCounter::Retransmits], counters[EngineCounter::TxRequests]);
}

TEST(KnownFailure, Row5ReplayedReadInsideAWriteSequence) {
    Script s({.rq_psn = 20});
    s.send({.opcode = Opcode::ReadRequest, .psn = 20, .dma_length = 2'500});
    s.expect({"READ_RESPONSE_FIRST 20 len 1024", "READ_RESPONSE_MIDDLE 21 len 1024", "READ_RESPONSE_LAST 22 len 452"});
    s.send({.opcode = Opcode::WriteFirst, .psn = 23, .payload = pattern(1'024), .dma_length = 2'060});
    s.send({.opcode = Opcode::ReadRequest, .psn = 20, .dma_length = 2'500});
    s.expect({"READ_RESPONSE_FIRST 20 len 1024", "READ_RESPONSE_MIDDLE 21 len 1024", "READ_RESPONSE_LAST 22 len 452"});
    s.send({.opcode = Opcode::WriteMiddle, .psn = 24, .payload = pattern(1'024)});
    s.send({.opcode = Opcode::WriteLast, .psn = 25, .payload = pattern(12)});
    s.expect({"ACK 25"});
    EXPECT_TRUE(s.env.states.empty());
}

TEST(KnownFailure, Row5DuplicateWriteIsNotAcknowledgedWithAReadsPsn) {
    Script s({.rq_psn = 20});
    s.send({.opcode = Opcode::WriteOnly, .psn = 20, .payload = {1}});
    s.send({.opcode = Opcode::ReadRequest, .psn = 21, .dma_length = 2'500});
    EXPECT_EQ(s.transmit().size(), 3U);
    s.send({.opcode = Opcode::WriteOnly, .psn = 20, .payload = {1}});
    s.expect({"ACK 20"});
}

TEST(KnownFailure, Row10EndlessRnrNeitherSpinsNorDisturbsOthers) {
    Fabric f({.pairs = 2});
    f.a.envs[0]->post(WrOpcode::Send, pattern(100));  // nobody receives it
    f.a.envs[1]->post(WrOpcode::Write, pattern(60'000));
    f.ring_all();
    EXPECT_FALSE(f.run(3'000));
    EXPECT_EQ(f.a.envs[1]->completions.size(), 1U);
    EXPECT_TRUE(f.a.envs[0]->completions.empty());
    const std::uint64_t rnrs = f.a.engine.counters()[EngineCounter::RxNakRnr];
    EXPECT_GT(rnrs, 7U) << "more than any finite rnr_retry";
    EXPECT_GE((f.now - Instant{1'000'000}).ps, rnr_timer(1).ps * static_cast<std::int64_t>(rnrs - 1));
    f.b.envs[0]->post_receive(100);
    ASSERT_TRUE(f.run());
    EXPECT_EQ(f.a.envs[0]->completions.at(0).status, WcStatus::Success);
}

TEST(KnownFailure, Row26UdpSourcePortIsInTheDynamicRangeAndStable) {
    Script s;
    s.attributes.av.udp_source_port = 0xD00D;
    s.modify(QpState::Rts);
    s.post(WrOpcode::Write, 5'000);
    std::vector<Packet*> out(16);
    out.resize(s.engine.transmit(s.now, out));
    EXPECT_EQ(out.size(), 5U);
    for (Packet* packet : out) {
        EXPECT_EQ(load_be16(packet->data + 34), 0xD00D);
        release(packet);
    }
}

TEST(KnownFailure, Row35RingWrapsAThousandTimesAndPostsInErrAreFlushed) {
    Script s({.send_slots = 4});
    for (std::uint32_t i = 0; i < 4'000; ++i) {
        s.post(WrOpcode::Send, 1);
        if (i % 4 == 3) {
            EXPECT_EQ(s.transmit().size(), 4U);
            s.ack(100 + i);
        }
    }
    EXPECT_EQ(s.env.completions.size(), 4'000U);
    s.modify(QpState::Err);
    s.post(WrOpcode::Send, 1);
    EXPECT_EQ(s.env.completions.back().status, WcStatus::WrFlushErr);
}

TEST(KnownFailure, Row39SendBeforeItsReceiveIsRetriedNotLost) {
    Fabric f({});
    f.a.envs[0]->post(WrOpcode::Send, pattern(3'000));
    f.ring_all();
    EXPECT_FALSE(f.run(200));
    f.b.envs[0]->post_receive(3'000);
    ASSERT_TRUE(f.run());
    EXPECT_EQ(f.a.envs[0]->completions.at(0).status, WcStatus::Success);
    EXPECT_TRUE(f.b.envs[0]->receives[0].room == pattern(3'000));
}

TEST(KnownFailure, Row45WriteWithImmediate) {
    Fabric f({});
    f.b.envs[0]->post_receive(0);
    f.a.envs[0]->post(WrOpcode::WriteImm, pattern(5'000));
    f.ring_all();
    ASSERT_TRUE(f.run());
    const Completion& received = f.b.envs[0]->completions.at(0);
    EXPECT_EQ(received.opcode, WcOpcode::RecvRdmaWithImm);
    EXPECT_EQ(received.byte_len, 5'000U);
    EXPECT_EQ(received.imm, 0xCAFE0000U);
}

TEST(KnownFailure, Row49PathMtuBeyondThePortIsAnErrorAndNotSilence) {
    Script s({.mtu = 4'096, .pool_frame_bytes = 1'518});
    s.post(WrOpcode::Write, 1'000);
    s.expect({"WRITE_ONLY 100 A len 1000"});
    s.ack(100);
    s.post(WrOpcode::Write, 4'000);
    s.expect_nothing();
    s.expect_completions({"1000 ok", "1001 LOC_QP_OP"});
    EXPECT_EQ(s.count(EngineCounter::TxOversize), 1U);
}

TEST(KnownFailure, Row49ReadThatOurPortCannotAnswerIsRefused) {
    Script s({.mtu = 4'096, .pool_frame_bytes = 1'518});
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 1'000});
    s.expect({"READ_RESPONSE_ONLY 500 len 1000"});
    s.send({.opcode = Opcode::ReadRequest, .psn = 501, .dma_length = 4'000});
    s.expect({"NAK 0x63 501"});
    EXPECT_EQ(s.count(EngineCounter::NakUnanswerable), 1U);
}

TEST(KnownFailure, Row49PacketBeyondOurPathMtuIsRefused) {
    Script s({.mtu = 1'024});
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = pattern(2'048)});
    s.expect({"NAK 0x61 500"});
    EXPECT_EQ(s.count(EngineCounter::NakBadLength), 1U);
}

TEST(KnownFailure, Row58RemoteInErrIsRetryExceededAfterItsTimeouts) {
    Fabric f({.timeout = 3, .retry_count = 2});
    f.b.engine.modify_qp(f.now, f.b.qpns[0], QpState::Err, {});
    f.a.envs[0]->post(WrOpcode::Write, pattern(100));
    const Instant start = f.now;
    f.ring_all();
    ASSERT_TRUE(f.run());
    EXPECT_EQ(f.a.envs[0]->completions.at(0).status, WcStatus::RetryExcErr);
    EXPECT_EQ((f.now - start).ps, ack_timeout(3).ps * 3);
    EXPECT_EQ(f.b.engine.counters()[EngineCounter::RxDropWhileInError], 3U);
}

TEST(KnownFailure, Row58ReceiveTooSmallIsToldOnBothSides) {
    Fabric f({});
    f.b.envs[0]->post_receive(10);
    f.a.envs[0]->post(WrOpcode::Send, pattern(11));
    f.ring_all();
    ASSERT_TRUE(f.run());
    EXPECT_EQ(f.a.envs[0]->completions.at(0).status, WcStatus::RemInvReqErr);
    EXPECT_EQ(f.b.envs[0]->completions.at(0).status, WcStatus::LocLenErr);
}

}  // namespace
}  // namespace vroce::nic::test
