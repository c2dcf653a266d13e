// The requester when packets, acknowledgements or READ data are lost, late or doubled: what it sends again, and when.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "nic/transport/timing.hpp"
#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

constexpr Duration kTimeout = ack_timeout(14);

void respond(Script& s, std::uint32_t psn, Opcode opcode, std::size_t bytes) {
    s.send({.opcode = opcode, .psn = psn, .payload = pattern(bytes, psn)});
}

TEST(Loss, SequenceNakGoesBackInsideAMessage) {
    Script s;
    s.post(WrOpcode::Write, 4'096);
    s.expect({"WRITE_FIRST 100 len 1024", "WRITE_MIDDLE 101 len 1024", "WRITE_MIDDLE 102 len 1024",
              "WRITE_LAST 103 A len 1024"});
    s.nak(102, 0x60);
    s.expect({"WRITE_MIDDLE 102 len 1024", "WRITE_LAST 103 A len 1024"});
    s.ack(103);
    s.expect_completions({"1000 ok"});
    EXPECT_EQ(s.count(EngineCounter::Retransmits), 2U);
}

/// A message of four packets, for each of its operations, with the NAK at each of its packets.
class LossAt : public testing::TestWithParam<std::tuple<WrOpcode, std::uint32_t>> {};
TEST_P(LossAt, ResumesExactlyThere) {
    const auto [opcode, lost] = GetParam();
    Script s;
    s.post(opcode, 4'000);
    s.post(WrOpcode::Send, 4);
    const auto all = s.transmit();
    ASSERT_EQ(all.size(), 5U);
    s.nak(100 + lost, 0x60);
    EXPECT_EQ(s.transmit(), std::vector(all.begin() + lost, all.end()));
    s.ack(104);
    s.expect_completions({"1000 ok", "1001 ok"});
    s.expect_nothing();
    s.expect_deadline(kNever);
}
INSTANTIATE_TEST_SUITE_P(Each, LossAt,
                         testing::Combine(testing::Values(WrOpcode::Send, WrOpcode::SendImm, WrOpcode::Write,
                                                          WrOpcode::WriteImm),
                                          testing::Range(0U, 5U)));

TEST(Loss, TimeoutIsExactToThePicosecondAndSendsAllAgain) {
    Script s;
    s.post(WrOpcode::Send, 2'000);
    s.advance(microseconds(3));  // the clock runs from the packet's leaving, not from the post
    s.expect({"SEND_FIRST 100 len 1024", "SEND_LAST 101 A len 976"});
    const Instant due = s.now + kTimeout;
    s.expect_deadline(due);
    s.at(Instant{due.ps - 1});
    s.expire();
    s.expect_nothing();
    s.at(due);
    s.expire();
    s.expect({"SEND_FIRST 100 len 1024", "SEND_LAST 101 A len 976"});
    s.expect_deadline(due + kTimeout);
}

TEST(Loss, TimerStartsAnewOnForwardProgressOnly) {
    Script s;
    s.post(WrOpcode::Send, 4);
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    const Instant sent = s.now;
    s.advance(milliseconds(1));
    s.ack(99);  // from before
    s.expect_deadline(sent + kTimeout);
    s.ack(100);
    s.expect_nothing();
    s.expect_deadline(s.now + kTimeout);
    s.ack(101);
    s.expect_nothing();
    s.expect_deadline(kNever);
}

TEST(Loss, TimeoutZeroMeansNever) {
    Script s({.timeout = 0});
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.expect_deadline(kNever);
}

class RetryCount : public testing::TestWithParam<int> {};
TEST_P(RetryCount, IsFiniteInAllItsValues) {  // 7 too: rxe takes it for infinite
    Script s({.retry_count = static_cast<std::uint8_t>(GetParam())});
    s.post(WrOpcode::Send, 4);
    s.post(WrOpcode::Send, 4, 0);
    s.post_receive(10);
    for (int tries = 0; tries <= GetParam(); ++tries) {
        EXPECT_EQ(s.transmit().front(), "SEND_ONLY 100 A len 4");
        s.expect_completions({});
        s.at(s.engine.next_deadline());
        s.expire();
    }
    s.expect_completions({"1000 RETRY_EXC", "1001 flushed", "2000 flushed"});
    EXPECT_EQ(s.env.states, std::vector{QpState::Err});
    s.expect_nothing();
    s.expect_deadline(kNever);
}
INSTANTIATE_TEST_SUITE_P(All, RetryCount, testing::Range(0, 8));

TEST(Loss, ProgressRefillsTheRetries) {
    Script s({.retry_count = 1});
    s.post(WrOpcode::Send, 4);
    s.post(WrOpcode::Send, 4);
    for (const std::uint32_t psn : {100U, 101U}) {
        static_cast<void>(s.transmit());
        s.at(s.engine.next_deadline());
        s.expire();
        static_cast<void>(s.transmit());
        s.ack(psn);
    }
    s.expect_completions({"1000 ok", "1001 ok"});
}

TEST(Loss, AcknowledgementOfTheGivenUpFlightStillCounts) {
    Script s;
    s.post(WrOpcode::Send, 4);
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.at(s.engine.next_deadline());
    s.expire();
    s.ack(100);  // arrives before anything was sent again
    s.expect({"SEND_ONLY 101 A len 4"});
    s.ack(101);
    s.expect_completions({"1000 ok", "1001 ok"});
}

TEST(Loss, AcknowledgementsOfNothingAreDropped) {
    Script s;
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.ack(101);  // not sent yet
    s.ack(99);
    s.ack(0x7FFFFF);
    s.nak(101, 0x62);
    s.expect_completions({});
    EXPECT_EQ(s.count(EngineCounter::RxDropGhostAck), 3U);
    EXPECT_EQ(s.count(EngineCounter::RxDropStaleResponse), 1U);
    s.ack(100);
    s.expect_completions({"1000 ok"});
}

TEST(Loss, ReservedSyndromeIsDropped) {
    Script s;
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.nak(100, 0x40);
    s.expect_completions({});
    EXPECT_EQ(s.count(EngineCounter::RxDropStaleResponse), 1U);
}

TEST(Loss, DoubledNakIsAnsweredOnce) {
    Script s;
    s.post(WrOpcode::Write, 2'048);
    static_cast<void>(s.transmit());
    s.nak(101, 0x60);
    s.nak(101, 0x60);
    s.expect({"WRITE_LAST 101 A len 1024"});
    s.nak(101, 0x60);
    s.expect_nothing();
}

// ---- READ

TEST(Loss, AcknowledgementPastAnUnansweredReadIsAnImpliedNak) {
    Script s;
    s.post(WrOpcode::Write, 4);
    s.post(WrOpcode::Read, 2'048);
    s.post(WrOpcode::Write, 4);
    s.expect({"WRITE_ONLY 100 A len 4", "READ_REQUEST 101 A at 0 dma 2048", "WRITE_ONLY 103 A len 4"});
    s.ack(103);
    s.expect_completions({"1000 ok"});
    s.expect({"READ_REQUEST 101 A at 0 dma 2048", "WRITE_ONLY 103 A len 4"});
    EXPECT_EQ(s.count(EngineCounter::ImpliedNaks), 1U);
    respond(s, 101, Opcode::ReadResponseFirst, 1'024);
    respond(s, 102, Opcode::ReadResponseLast, 1'024);
    s.ack(103);
    s.expect_completions({"1001 ok", "1002 ok"});
}

class LostResponse : public testing::TestWithParam<std::uint32_t> {};
TEST_P(LostResponse, ReadIsAskedForAgainFromThere) {
    const std::uint32_t lost = GetParam();
    Script s;
    s.post(WrOpcode::Read, 3'500);
    s.post(WrOpcode::Read, 10, kSendSignaled, 5'000);
    s.expect({"READ_REQUEST 100 A at 0 dma 3500", "READ_REQUEST 104 A at 5000 dma 10"});
    const auto deliver = [&s](std::uint32_t from, std::uint32_t skip) {
        for (std::uint32_t i = from; i < 4; ++i) {
            Opcode opcode = i == from ? Opcode::ReadResponseFirst : Opcode::ReadResponseMiddle;
            if (i == 3) opcode = from == 3 ? Opcode::ReadResponseOnly : Opcode::ReadResponseLast;
            if (i != skip) respond(s, 100 + i, opcode, i == 3 ? 428 : 1'024);
        }
        respond(s, 104, Opcode::ReadResponseOnly, 10);
    };
    deliver(0, lost);
    s.expect({fmt::format("READ_REQUEST {} A at {} dma {}", 100 + lost, lost * 1'024, 3'500 - lost * 1'024),
              "READ_REQUEST 104 A at 5000 dma 10"});
    deliver(lost, 99);
    s.expect_completions({"1000 ok", "1001 ok"});
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(s.env.sends[0].data[i * 1'024], pattern(1, 100 + i)[0]) << i;
    EXPECT_EQ(s.count(EngineCounter::ImpliedNaks), 1U);
}
INSTANTIATE_TEST_SUITE_P(Each, LostResponse, testing::Range(0U, 4U));

TEST(Loss, LastReadResponseLostIsATimeout) {
    Script s;
    s.post(WrOpcode::Read, 2'048);
    static_cast<void>(s.transmit());
    respond(s, 100, Opcode::ReadResponseFirst, 1'024);
    s.expect_nothing();
    s.expect_deadline(s.now + kTimeout);
    s.at(s.engine.next_deadline());
    s.expire();
    s.expect({"READ_REQUEST 101 A at 1024 dma 1024"});
    respond(s, 101, Opcode::ReadResponseOnly, 1'024);
    s.expect_completions({"1000 ok"});
}

TEST(Loss, DoubledReadResponsesAreDropped) {
    Script s;
    s.post(WrOpcode::Read, 2'048);
    static_cast<void>(s.transmit());
    respond(s, 100, Opcode::ReadResponseFirst, 1'024);
    respond(s, 100, Opcode::ReadResponseFirst, 1'024);
    respond(s, 101, Opcode::ReadResponseLast, 1'024);
    respond(s, 101, Opcode::ReadResponseLast, 1'024);
    s.expect_completions({"1000 ok"});
    EXPECT_EQ(s.count(EngineCounter::RxDropStaleResponse), 2U);
    s.expect_nothing();
}

TEST(Loss, ReadResponseOfTheWrongSizeOrKindIsABadResponse) {
    const PeerPacket wrong[] = {
        {.opcode = Opcode::ReadResponseFirst, .psn = 100, .payload = pattern(1'020)},
        {.opcode = Opcode::ReadResponseOnly, .psn = 100, .payload = pattern(1'024)},
        {.opcode = Opcode::ReadResponseLast, .psn = 100, .payload = pattern(1'024)},
        {.opcode = Opcode::ReadResponseMiddle, .psn = 100, .payload = {}},
    };
    for (const PeerPacket& packet : wrong) {
        Script s;
        s.post(WrOpcode::Read, 2'048);
        static_cast<void>(s.transmit());
        s.send(packet);
        s.expect_completions({"1000 BAD_RESP"});
    }
}

TEST(Loss, ReadResponseToAWriteIsABadResponse) {
    Script s;
    s.post(WrOpcode::Write, 8);
    static_cast<void>(s.transmit());
    respond(s, 100, Opcode::ReadResponseOnly, 8);
    s.expect_completions({"1000 BAD_RESP"});
}

// ---- RNR

TEST(Loss, RnrWaitsExactlyTheTimerAndResumesInsideTheMessage) {
    Script s;
    s.post(WrOpcode::WriteImm, 2'048);
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.rnr(101, 12);  // 0.64 ms
    s.expect_nothing();
    const Instant due = s.now + microseconds(640);
    s.expect_deadline(due);
    s.at(Instant{due.ps - 1});
    s.expire();
    s.expect_nothing();
    s.at(due);
    s.expire();
    s.expect({"WRITE_LAST_IMM 101 A len 1024", "SEND_ONLY 102 A len 4"});
    s.ack(102);
    s.expect_completions({"1000 ok", "1001 ok"});
}

TEST(Loss, RnrRetriesAreCountedApart) {
    Script s({.retry_count = 0, .rnr_retry = 2});
    s.post(WrOpcode::Send, 4);
    for (int tries = 0; tries < 3; ++tries) {
        s.expect({"SEND_ONLY 100 A len 4"});
        s.rnr(100, 1);
        s.at(std::min(s.engine.next_deadline(), s.now + seconds(1)));
        s.expire();
    }
    s.expect_completions({"1000 RNR_RETRY_EXC"});
    EXPECT_EQ(s.count(EngineCounter::RnrRetryExceeded), 1U);
}

TEST(Loss, PostsDuringAnRnrWaitWaitToo) {
    Script s;
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.rnr(100, 1);
    s.post(WrOpcode::Send, 4);
    s.expect_nothing();
    s.at(s.engine.next_deadline());
    s.expire();
    s.expect({"SEND_ONLY 100 A len 4", "SEND_ONLY 101 A len 4"});
}

TEST(Loss, LateAcknowledgementEndsAnRnrWait) {
    Script s;
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.rnr(100, 20);
    s.ack(100);
    s.expect_completions({"1000 ok"});
    s.expect_nothing();
    s.expect_deadline(kNever);
}

// ---- the 24-bit circle

TEST(Loss, EverythingWorksAcrossTheWrap) {
    Script s({.sq_psn = 0xFFFFFE});
    s.post(WrOpcode::Write, 4'096);
    s.post(WrOpcode::Read, 1'500);
    s.expect({"WRITE_FIRST 16777214 len 1024", "WRITE_MIDDLE 16777215 len 1024", "WRITE_MIDDLE 0 len 1024",
              "WRITE_LAST 1 A len 1024", "READ_REQUEST 2 A at 0 dma 1500"});
    s.nak(0, 0x60);
    s.expect({"WRITE_MIDDLE 0 len 1024", "WRITE_LAST 1 A len 1024", "READ_REQUEST 2 A at 0 dma 1500"});
    s.ack(1);
    respond(s, 2, Opcode::ReadResponseFirst, 1'024);
    respond(s, 3, Opcode::ReadResponseLast, 476);
    s.expect_completions({"1000 ok", "1001 ok"});
}

}  // namespace
}  // namespace vroce::nic::test
