// The queue pair's states: what each lets through, how it is left, and that nothing is lost on the way.
#include <gtest/gtest.h>

#include <set>

#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

TEST(State, RequestsAreDroppedBeforeRtr) {
    Script s({.state = QpState::Init});
    s.post_receive(4);
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    s.expect_nothing();
    EXPECT_EQ(s.count(EngineCounter::RxDropQpState), 1U);
    s.modify(QpState::Rtr);
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    s.expect({"ACK 500"});
}

TEST(State, ResponsesInRtrAreDropped) {
    Script s({.state = QpState::Rtr});
    s.ack(100);
    EXPECT_EQ(s.count(EngineCounter::RxDropQpState), 1U);
}

TEST(State, ModifyToErrFlushesEverythingInOrder) {
    Script s;
    s.post(WrOpcode::Send, 4);
    s.post(WrOpcode::Send, 4, 0);
    s.expect({"SEND_ONLY 100 A len 4", "SEND_ONLY 101 A len 4"});
    s.post(WrOpcode::Send, 4, 0);  // never fetched
    s.post_receive(4);
    s.post_receive(4);
    s.modify(QpState::Err);
    s.expect_completions({"1000 flushed", "1001 flushed", "1002 flushed", "2000 flushed", "2001 flushed"});
    s.expect_nothing();
    s.expect_deadline(kNever);
    EXPECT_TRUE(s.env.states.empty()) << "it was asked for";
    EXPECT_EQ(s.engine.query_qp(s.qpn).state, QpState::Err);
}

TEST(State, ReceiveInUseIsFlushedFirst) {
    Script s;
    s.post_receive(4'096);
    s.post_receive(4'096);
    s.send({.opcode = Opcode::SendFirst, .psn = 500, .payload = pattern(1'024)});
    s.modify(QpState::Err);
    s.expect_completions({"2000 flushed", "2001 flushed"});
}

TEST(State, PostsInErrAreFlushed) {
    Script s;
    s.modify(QpState::Err);
    s.post(WrOpcode::Send, 4, 0);
    s.post_receive(4);
    s.ring();
    s.expect_completions({"1000 flushed", "2000 flushed"});
}

TEST(State, AcknowledgementOfWhatWasDeliveredSurvivesErrResetAndDestruction) {
    for (const int way : {0, 1, 2}) {
        Script s;
        s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
        if (way == 0) s.modify(QpState::Err);
        if (way == 1) s.modify(QpState::Reset);
        if (way == 2) s.engine.destroy_qp(s.qpn);
        s.expect({"ACK 500"});
        s.expect_deadline(kNever);
    }
}

TEST(State, ReadsAreNotAnsweredAfterOurOwnErr) {
    Script s;
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 4'000});
    s.modify(QpState::Err);
    s.expect_nothing();
}

TEST(State, ResetForgetsAndStartsOver) {
    Script s;
    s.post_receive(4'096);
    s.post(WrOpcode::Send, 4);
    s.post(WrOpcode::Read, 4);
    static_cast<void>(s.transmit());
    s.send({.opcode = Opcode::SendFirst, .psn = 500, .payload = pattern(1'024)});
    s.modify(QpState::Reset);
    s.expect_completions({});
    static_cast<void>(s.transmit());
    s.expect_deadline(kNever);
    s.ack(100);
    s.expect_completions({});

    s.env.sends.clear();
    s.env.receives.clear();
    s.attributes.sq_psn = 7;
    s.attributes.rq_psn = 9;
    for (const QpState state : {QpState::Init, QpState::Rtr, QpState::Rts}) s.modify(state);
    s.post_receive(8);
    s.post(WrOpcode::Send, 4);
    s.expect({"SEND_ONLY 7 A len 4"});
    s.send({.opcode = Opcode::SendOnly, .psn = 9, .payload = {1}});
    s.ack(7);
    s.expect({"ACK 9"});
    s.expect_completions({"2000 ok recv 1", "1000 ok"});
}

TEST(State, SqdDrainsWhatWasBegunAndTellsOnce) {
    Script s({.engine = {.qp_window_bytes = 2'500}});
    s.post(WrOpcode::Write, 4'096);
    s.expect({"WRITE_FIRST 100 len 1024", "WRITE_MIDDLE 101 A len 1024"});
    s.post(WrOpcode::Send, 4);
    s.modify(QpState::Sqd);
    EXPECT_TRUE(s.engine.query_qp(s.qpn).sq_draining);
    EXPECT_TRUE(s.env.events.empty());
    s.ack(101);
    s.expect({"WRITE_MIDDLE 102 len 1024", "WRITE_LAST 103 A len 1024"});
    s.ack(103);
    EXPECT_EQ(s.env.events, std::vector{AsyncEventType::SqDrained});
    EXPECT_EQ(s.env.states, std::vector{QpState::Sqd});
    EXPECT_FALSE(s.engine.query_qp(s.qpn).sq_draining);
    s.expect_nothing();
    s.expect_completions({"1000 ok"});
    s.modify(QpState::Rts);
    s.expect({"SEND_ONLY 104 A len 4"});
    EXPECT_EQ(s.env.events.size(), 1U);
}

TEST(State, SqdWithNothingOutIsDrainedAtOnceAndStillReceives) {
    Script s;
    s.modify(QpState::Sqd);
    EXPECT_EQ(s.env.events, std::vector{AsyncEventType::SqDrained});
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    s.expect({"ACK 500"});
}

TEST(State, NewAttributesInRtsKeepThePsns) {
    Script s;
    s.post(WrOpcode::Send, 4);
    s.expect({"SEND_ONLY 100 A len 4"});
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    s.attributes.min_rnr_timer = 1;
    s.modify(QpState::Rts);
    s.ack(100);
    s.post(WrOpcode::Send, 4);
    s.expect({"ACK 500", "SEND_ONLY 101 A len 4"});
    s.send({.opcode = Opcode::SendOnly, .psn = 501, .payload = {1}});
    s.expect({"RNR 1 501"});
}

TEST(State, StatusShowsThePsns) {
    Script s;
    s.post(WrOpcode::Send, 2'000);
    static_cast<void>(s.transmit());
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    static_cast<void>(s.transmit());
    const QpStatus status = s.engine.query_qp(s.qpn);
    EXPECT_EQ(status.sq_psn, 102U);
    EXPECT_EQ(status.rq_psn, 501U);
    EXPECT_EQ(s.engine.query_qp(0xFFFFFE).state, QpState::Reset);
}

TEST(State, NumbersAreUniqueNeverReservedAndNotReusedAtOnce) {
    SlabPool pool(4);
    Engine engine({.seed = 0}, pool);
    TestEnv env;
    std::set<std::uint32_t> seen;
    for (int i = 0; i < 1'000; ++i) {
        const std::uint32_t qpn = engine.create_qp(env, {});
        EXPECT_TRUE(seen.insert(qpn).second);
        EXPECT_GT(qpn, 1U);
        EXPECT_LT(qpn, 0xFFFFFFU);
        engine.destroy_qp(qpn);
    }
}

TEST(State, UnknownQueuePairsAreHarmless) {
    Script s;
    s.engine.destroy_qp(12'345);
    s.engine.doorbell(s.now, 12'345);
    s.engine.modify_qp(s.now, 12'345, QpState::Rts, s.attributes);
    s.engine.on_copy_done(s.now, 12'345, CopyDirection::Send, true);
    s.engine.on_copy_done(s.now, s.qpn, CopyDirection::Receive, true);  // nothing was pending
    s.engine.on_copy_done(s.now, s.qpn, CopyDirection::Send, true);
    s.expect_nothing();
}

}  // namespace
}  // namespace vroce::nic::test
