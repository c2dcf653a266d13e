// Copies that go on elsewhere: order is kept, room is bounded, and whoever goes away in the middle loses no packet.
#include <gtest/gtest.h>

#include "nic/transport/inbox.hpp"
#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

void done(Script& s, CopyDirection direction, bool ok = true) {
    s.engine.on_copy_done(s.now, s.qpn, direction, ok);
}

TEST(Copies, RequestsWaitForTheirPayload) {
    Script s;
    s.env.gather_result = CopyResult::Pending;
    s.post(WrOpcode::Write, 2'000);
    s.post(WrOpcode::Send, 4);
    s.expect_nothing();
    s.expect_deadline(kNever);
    s.env.gather_result = CopyResult::Done;
    done(s, CopyDirection::Send);
    s.expect({"WRITE_FIRST 100 len 1024", "WRITE_LAST 101 A len 976", "SEND_ONLY 102 A len 4"});
}

TEST(Copies, RequestsLeaveInSmallBurstsAfterTheCopy) {
    Script s;
    s.env.gather_result = CopyResult::Pending;
    s.post(WrOpcode::Write, 3'000);
    s.expect_nothing();
    s.env.gather_result = CopyResult::Done;
    done(s, CopyDirection::Send);
    EXPECT_EQ(s.transmit(1), std::vector<std::string>{"WRITE_FIRST 100 len 1024"});
    EXPECT_EQ(s.transmit(1), std::vector<std::string>{"WRITE_MIDDLE 101 len 1024"});
    s.ack(100);
    s.expect({"WRITE_LAST 102 A len 952"});
}

TEST(Copies, FailedGatherIsAProtectionError) {
    Script s;
    s.env.gather_result = CopyResult::Pending;
    s.post(WrOpcode::Write, 2'000);
    s.expect_nothing();
    done(s, CopyDirection::Send, false);
    s.expect_nothing();
    s.expect_completions({"1000 LOC_PROT"});
}

TEST(Copies, AcknowledgementsDoNotWaitForOurGather) {
    Script s;
    s.env.gather_result = CopyResult::Pending;
    s.post(WrOpcode::Write, 2'000);
    s.expect_nothing();
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    s.expect({"ACK 500"});
    done(s, CopyDirection::Send);
    EXPECT_EQ(s.transmit().size(), 2U);
}

TEST(Copies, ReadResponsesWaitAndKeepTheirPlace) {
    Script s;
    s.env.read_remote_result = CopyResult::Pending;
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 2'000});
    s.send({.opcode = Opcode::WriteOnly, .psn = 502, .payload = {1}});
    s.post(WrOpcode::Send, 4);
    s.expect_nothing();
    s.env.read_remote_result = CopyResult::Done;
    done(s, CopyDirection::Send);
    s.expect(
        {"READ_RESPONSE_FIRST 500 len 1024", "READ_RESPONSE_LAST 501 len 976", "ACK 502", "SEND_ONLY 100 A len 4"});
}

TEST(Copies, FailedReadGatherIsAnAccessError) {
    Script s;
    s.env.read_remote_result = CopyResult::Pending;
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 2'000});
    s.expect_nothing();
    done(s, CopyDirection::Send, false);
    s.expect({"NAK 0x62 500"});
}

TEST(Copies, StaleFramesOfAFlightGivenUpAreNotSent) {
    Script s;
    s.post(WrOpcode::Write, 1'024);
    s.expect({"WRITE_ONLY 100 A len 1024"});
    s.env.gather_result = CopyResult::Pending;
    s.post(WrOpcode::Write, 1'024);
    s.expect_nothing();
    s.at(s.engine.next_deadline());
    s.expire();  // goes back while the copy for 101 runs
    s.expect_nothing();
    s.env.gather_result = CopyResult::Done;
    done(s, CopyDirection::Send);
    s.expect({"WRITE_ONLY 100 A len 1024", "WRITE_ONLY 101 A len 1024"});
    EXPECT_EQ(s.count(EngineCounter::CopiesAbandoned), 1U);
}

TEST(Copies, ReceivedPacketsWaitInOrderBehindOne) {
    Script s;
    s.post_receive(64);
    s.env.write_remote_result = CopyResult::Pending;
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    s.env.write_remote_result = CopyResult::Done;
    s.send({.opcode = Opcode::SendOnly, .psn = 501, .payload = {2}});
    s.send({.opcode = Opcode::ReadRequest, .psn = 502, .dma_length = 4});
    s.expect_nothing();
    s.expect_completions({});
    done(s, CopyDirection::Receive);
    s.expect_completions({"2000 ok recv 1"});
    s.expect({"READ_RESPONSE_ONLY 502 len 4"});
}

TEST(Copies, EachWaitingPacketMayWaitAgain) {
    Script s;
    s.env.write_remote_result = CopyResult::Pending;
    for (std::uint32_t i = 0; i < 3; ++i) s.send({.opcode = Opcode::WriteOnly, .psn = 500 + i, .payload = {1}});
    for (std::uint32_t i = 0; i < 3; ++i) {
        s.env.write_remote_result = i < 2 ? CopyResult::Pending : CopyResult::Done;
        s.expect(i == 0 ? std::vector<std::string>{} : std::vector{"ACK " + std::to_string(499 + i)});
        done(s, CopyDirection::Receive);
    }
    s.expect({"ACK 502"});
}

TEST(Copies, FailedLandingHasTheSameConsequenceAsAtOnce) {
    Script s;
    s.post_receive(64);
    s.env.scatter_recv_result = CopyResult::Pending;
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    done(s, CopyDirection::Receive, false);
    s.expect({"NAK 0x63 500"});
    s.expect_completions({"2000 LOC_PROT"});
}

TEST(Copies, ReadDataIsLandedLateAndTheTimerHolds) {
    Script s;
    s.post(WrOpcode::Read, 2'000);
    static_cast<void>(s.transmit());
    s.env.scatter_read_result = CopyResult::Pending;
    s.send({.opcode = Opcode::ReadResponseFirst, .psn = 100, .payload = pattern(1'024)});
    s.at(s.engine.next_deadline());
    s.expire();  // our own memory is slow: that is no reason to ask again
    s.expect_nothing();
    EXPECT_EQ(s.count(EngineCounter::AckTimeouts), 0U);
    s.env.scatter_read_result = CopyResult::Done;
    s.send({.opcode = Opcode::ReadResponseLast, .psn = 101, .payload = pattern(976)});
    s.expect_completions({});
    done(s, CopyDirection::Receive);
    s.expect_completions({"1000 ok"});
}

TEST(Copies, BacklogIsBoundedAndItsDropsCounted) {
    Script s({.pool_packets = 1'200});
    s.env.write_remote_result = CopyResult::Pending;
    for (std::uint32_t i = 0; i < 3 + Inbox::kMostWaiting; ++i)
        s.send({.opcode = Opcode::WriteOnly, .psn = 500 + i, .payload = {1}});
    EXPECT_EQ(s.count(EngineCounter::RxDropBacklogFull), 2U);
    s.env.write_remote_result = CopyResult::Done;
    done(s, CopyDirection::Receive);
    s.expect({"ACK 756"});
}

TEST(Copies, WaitingPacketsNeverTakeMoreThanAQuarterOfThePool) {
    Script s({.pool_packets = 40});
    s.env.write_remote_result = CopyResult::Pending;
    for (std::uint32_t i = 0; i < 15; ++i) s.send({.opcode = Opcode::WriteOnly, .psn = 500 + i, .payload = {1}});
    EXPECT_EQ(s.pool.in_use(), 11U) << "one is being copied, ten wait";
    EXPECT_EQ(s.count(EngineCounter::RxDropBacklogFull), 4U);
    s.env.write_remote_result = CopyResult::Done;
    done(s, CopyDirection::Receive);
    s.expect({"ACK 510"});
}

/// Err, Reset and destruction while both directions copy: packets stay until the copies end, and nothing is sent.
class GoingAway : public testing::TestWithParam<int> {};
TEST_P(GoingAway, KeepsPacketsUntilTheCopiesEnd) {
    Script s;
    s.env.gather_result = s.env.write_remote_result = CopyResult::Pending;
    s.post(WrOpcode::Write, 3'000);
    s.expect_nothing();
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    s.send({.opcode = Opcode::WriteOnly, .psn = 501, .payload = {1}});
    if (GetParam() == 0) s.modify(QpState::Err);
    if (GetParam() == 1) s.modify(QpState::Reset);
    if (GetParam() == 2) s.engine.destroy_qp(s.qpn);
    EXPECT_EQ(s.pool.in_use(), 4U) << "three being written, one being read";
    s.expect_nothing();
    done(s, CopyDirection::Receive);
    done(s, CopyDirection::Send);
    EXPECT_EQ(s.pool.in_use(), 0U);
    s.expect_nothing();
}
INSTANTIATE_TEST_SUITE_P(Each, GoingAway, testing::Range(0, 3));

TEST(Copies, ResetAndReuseWhileAnOldCopyStillRuns) {
    Script s;
    s.env.gather_result = CopyResult::Pending;
    s.post(WrOpcode::Write, 3'000);
    s.expect_nothing();
    s.modify(QpState::Reset);
    s.env.sends.clear();
    s.env.gather_result = CopyResult::Done;
    for (const QpState state : {QpState::Init, QpState::Rtr, QpState::Rts}) s.modify(state);
    s.post(WrOpcode::Send, 4);
    s.expect_nothing();  // one copy per direction
    done(s, CopyDirection::Send);
    s.expect({"SEND_ONLY 100 A len 4"});
}

}  // namespace
}  // namespace vroce::nic::test
