// Whatever goes wrong: who is told, with which status, which event, and what becomes of the rest.
#include <gtest/gtest.h>

#include "nic/transport/vendor_error.hpp"
#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

// ---- the peer refuses

struct Refusal {
    std::uint8_t syndrome;
    const char* status;
};
class RemoteErrors : public testing::TestWithParam<Refusal> {};
TEST_P(RemoteErrors, CompleteTheOneAndFlushTheRest) {
    Script s;
    s.post(WrOpcode::Write, 4);
    s.post(WrOpcode::Write, 4, 0);  // unsignalled, but it fails
    s.post(WrOpcode::Write, 4, 0);
    static_cast<void>(s.transmit());
    s.post_receive(4);
    s.nak(101, GetParam().syndrome);
    s.expect_completions({"1000 ok", std::string("1001 ") + GetParam().status, "1002 flushed", "2000 flushed"});
    EXPECT_EQ(s.env.states, std::vector{QpState::Err});
    EXPECT_TRUE(s.env.events.empty()) << "the completion tells it";
    s.expect_nothing();
    s.expect_deadline(kNever);
}
INSTANTIATE_TEST_SUITE_P(All, RemoteErrors,
                         testing::Values(Refusal{0x61, "REM_INV_REQ"}, Refusal{0x62, "REM_ACCESS"},
                                         Refusal{0x63, "REM_OP"}, Refusal{0x64, "BAD_RESP"}));

TEST(Errors, FatalNakBehindAnUnansweredReadIsAnImpliedNakFirst) {
    Script s;
    s.post(WrOpcode::Read, 4);
    s.post(WrOpcode::Write, 4);
    static_cast<void>(s.transmit());
    s.nak(101, 0x62);
    s.expect_completions({});
    s.expect({"READ_REQUEST 100 A at 0 dma 4", "WRITE_ONLY 101 A len 4"});
    s.send({.opcode = Opcode::ReadResponseOnly, .psn = 100, .payload = pattern(4)});
    s.nak(101, 0x62);
    s.expect_completions({"1000 ok", "1001 REM_ACCESS"});
}

// ---- we refuse

struct AccessCase {
    RemoteAccess access;
    EngineCounter counter;
};
class AccessErrors : public testing::TestWithParam<AccessCase> {};
TEST_P(AccessErrors, AreNak62AndAnAccessEvent) {
    for (const Opcode opcode : {Opcode::WriteOnly, Opcode::WriteFirst, Opcode::ReadRequest}) {
        Script s;
        s.post_receive(4);
        s.post(WrOpcode::Send, 4, 0);
        static_cast<void>(s.transmit());
        s.env.remote_access = GetParam().access;
        PeerPacket packet{.opcode = opcode, .psn = 500, .dma_length = 4};
        if (opcode == Opcode::WriteOnly) packet.payload = pattern(4);
        if (opcode == Opcode::WriteFirst) {
            packet.payload = pattern(1'024);
            packet.dma_length = 2'000;
        }
        s.send(packet);
        s.expect({"NAK 0x62 500"});
        EXPECT_EQ(s.env.events, std::vector{AsyncEventType::QpAccessErr});
        EXPECT_EQ(s.env.states, std::vector{QpState::Err});
        EXPECT_EQ(s.count(GetParam().counter), 1U);
        s.expect_completions({"1000 flushed", "2000 flushed"});
        s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
        s.expect_nothing();
        EXPECT_EQ(s.count(EngineCounter::RxDropWhileInError), 1U);
    }
}
INSTANTIATE_TEST_SUITE_P(All, AccessErrors,
                         testing::Values(AccessCase{RemoteAccess::BadKey, EngineCounter::NakBadKey},
                                         AccessCase{RemoteAccess::WrongPd, EngineCounter::NakWrongPd},
                                         AccessCase{RemoteAccess::OutOfBounds, EngineCounter::NakOutOfBounds},
                                         AccessCase{RemoteAccess::NoPermission, EngineCounter::NakNoPermission}));

TEST(Errors, WholeRangeOfAWriteIsCheckedBeforeItsFirstByte) {
    Script s;
    s.send({.opcode = Opcode::WriteFirst,
            .psn = 500,
            .payload = pattern(1'024),
            .va = TestEnv::kBase + s.env.region.size() - 1'024,
            .dma_length = 1'025});
    s.expect({"NAK 0x62 500"});
    EXPECT_EQ(s.env.region.back(), 0);
}

TEST(Errors, OperationsThatTheQueuePairDoesNotAllowAreInvalidRequests) {
    for (const Opcode opcode : {Opcode::WriteOnly, Opcode::ReadRequest, Opcode::FetchAdd, Opcode::CompareSwap}) {
        Script s({.access = 0});
        s.send({.opcode = opcode, .psn = 500, .dma_length = 0});
        s.expect({"NAK 0x61 500"});
        EXPECT_EQ(s.env.events, std::vector{AsyncEventType::QpReqErr});
    }
}

TEST(Errors, SendBeyondItsReceiveIsALengthErrorOnBothSides) {
    Script s;
    s.post_receive(1'030);
    s.post_receive(4);
    s.send({.opcode = Opcode::SendFirst, .psn = 500, .payload = pattern(1'024)});
    s.send({.opcode = Opcode::SendLast, .psn = 501, .payload = pattern(7)});
    s.expect({"NAK 0x61 501"});
    s.expect_completions({"2000 LOC_LEN", "2001 flushed"});
    EXPECT_EQ(s.count(EngineCounter::NakReceiveTooShort), 1U);
}

TEST(Errors, BadReceiveIsOurFaultAndTheirRemoteOperationError) {
    Script s;
    s.post_receive(64);
    s.env.receives[0].valid = false;
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    s.expect({"NAK 0x63 500"});
    s.expect_completions({"2000 LOC_QP_OP"});
}

TEST(Errors, ReceiveMemoryThatFaultsIsAProtectionError) {
    Script s;
    s.post_receive(64);
    s.env.scatter_recv_result = CopyResult::Fault;
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    s.expect({"NAK 0x63 500"});
    s.expect_completions({"2000 LOC_PROT"});
}

TEST(Errors, RemoteMemoryThatVanishesIsAnAccessError) {
    Script s;
    s.env.write_remote_result = CopyResult::Fault;
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    s.expect({"NAK 0x62 500"});
    EXPECT_EQ(s.count(EngineCounter::NakRemoteFault), 1U);
}

TEST(Errors, ReadMemoryThatVanishesIsNakedWhereItWas) {
    Script s({.engine = {.quantum_packets = 1}});
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 3'000});
    EXPECT_EQ(s.transmit(1), std::vector<std::string>{"READ_RESPONSE_FIRST 500 len 1024"});
    s.env.read_remote_result = CopyResult::Fault;
    s.expect({"NAK 0x62 501"});
    EXPECT_EQ(s.env.events, std::vector{AsyncEventType::QpAccessErr});
    EXPECT_EQ(s.env.states, std::vector{QpState::Err});
}

TEST(Errors, ReplayedReadWhoseMemoryVanishedIsSilence) {
    Script s;
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 4});
    s.expect({"READ_RESPONSE_ONLY 500 len 4"});
    s.env.read_remote_result = CopyResult::Fault;
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 4});
    s.expect_nothing();
    EXPECT_TRUE(s.env.states.empty());
    EXPECT_EQ(s.count(EngineCounter::ReadReplayFaults), 1U);
}

// ---- our own work requests

TEST(Errors, InvalidWorkRequestFailsInItsTurn) {
    Script s;
    s.post(WrOpcode::Send, 4);
    s.env.post(WrOpcode::Send, {}, 0);
    s.env.sends.back().valid = false;
    s.post(WrOpcode::Send, 4);
    s.expect({"SEND_ONLY 100 A len 4"});
    s.expect_completions({});
    s.ack(100);
    s.expect_nothing();
    s.expect_completions({"1000 ok", "1001 LOC_QP_OP", "1002 flushed"});
    EXPECT_EQ(s.count(EngineCounter::BadSendWqes), 1U);
}

TEST(Errors, MemoryThatCannotBeReadFailsInItsTurn) {
    Script s;
    s.post(WrOpcode::Send, 4);
    s.expect({"SEND_ONLY 100 A len 4"});
    s.env.gather_result = CopyResult::Fault;
    s.post(WrOpcode::Send, 4, 0);
    s.expect_nothing();
    s.expect_completions({});
    s.ack(100);
    s.expect_nothing();
    s.expect_completions({"1000 ok", "1001 LOC_PROT"});
}

TEST(Errors, ReadDataThatCannotBeLandedIsAProtectionError) {
    Script s;
    s.post(WrOpcode::Read, 4);
    static_cast<void>(s.transmit());
    s.env.scatter_read_result = CopyResult::Fault;
    s.send({.opcode = Opcode::ReadResponseOnly, .psn = 100, .payload = pattern(4)});
    s.expect_completions({"1000 LOC_PROT"});
}

TEST(Errors, ReadWithoutResourcesIsAnOperationError) {
    Script s({.max_rd_atomic = 0});
    s.post(WrOpcode::Read, 4);
    s.expect_nothing();
    s.expect_completions({"1000 LOC_QP_OP"});
    EXPECT_EQ(s.env.completions[0].vendor_err, static_cast<std::uint32_t>(VendorError::NoReadResources));
}

// ---- completion queues

TEST(Errors, FullCompletionQueueOnTheSendSideIsFatal) {
    Script s;
    s.env.completion_room = 1;
    s.post(WrOpcode::Send, 4);
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.ack(101);
    EXPECT_EQ(s.env.states, std::vector{QpState::Err});
    EXPECT_GE(s.count(EngineCounter::CompletionQueueFull), 1U);
    s.expect_nothing();
}

TEST(Errors, FullCompletionQueueOnTheReceiveSideIsFatalAndUnacknowledged) {
    Script s;
    s.env.completion_room = 0;
    s.post_receive(4);
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    EXPECT_EQ(s.env.states, std::vector{QpState::Err});
    s.expect_nothing();
}

// ---- the packet pool

TEST(Errors, EmptyPacketPoolIsWaitedOutWithoutSpinning) {
    Script s({.pool_packets = 4});
    Packet* hostages[4];
    for (Packet*& packet : hostages) packet = s.pool.alloc();
    s.post(WrOpcode::Write, 2'048);
    EXPECT_TRUE(s.transmit().empty());
    EXPECT_GT(s.engine.next_deadline(), s.now);
    EXPECT_LE(s.engine.next_deadline(), s.now + microseconds(10));
    for (Packet* packet : hostages) release(packet);
    s.at(s.engine.next_deadline());
    s.expect({"WRITE_FIRST 100 len 1024", "WRITE_LAST 101 A len 1024"});
    EXPECT_GE(s.count(EngineCounter::TxNoPacket), 1U);
}

}  // namespace
}  // namespace vroce::nic::test
