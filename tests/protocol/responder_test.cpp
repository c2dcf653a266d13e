// The responder: past, in-order and future packets of each opcode, in each of its states, and exactly what it answers.
#include <gtest/gtest.h>

#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

constexpr std::uint32_t kPsn = 500;

PeerPacket request(Opcode opcode, std::uint32_t psn) {
    const OpcodeInfo& op = opcode_info(static_cast<std::uint8_t>(opcode));
    PeerPacket packet{.opcode = opcode, .psn = psn};
    if (op.has(kOpPayload)) packet.payload = pattern(op.has(kOpFirst | kOpMiddle) ? 1'024 : 100);
    if (op.has(kOpFirst)) packet.dma_length = 2'000;
    if (opcode == Opcode::ReadRequest) packet.dma_length = 64;
    return packet;
}

class EachRequest : public testing::TestWithParam<Opcode> {};
INSTANTIATE_TEST_SUITE_P(All, EachRequest,
                         testing::Values(Opcode::SendFirst, Opcode::SendMiddle, Opcode::SendLast, Opcode::SendLastImm,
                                         Opcode::SendOnly, Opcode::SendOnlyImm, Opcode::WriteFirst, Opcode::WriteMiddle,
                                         Opcode::WriteLast, Opcode::WriteLastImm, Opcode::WriteOnly,
                                         Opcode::WriteOnlyImm, Opcode::ReadRequest));

TEST_P(EachRequest, FromTheFutureIsNakedOnceAndThenSilent) {
    Script s;
    s.post_receive(4'096);
    for (const std::uint32_t psn : {502U, 503U, 502U}) s.send(request(GetParam(), psn));
    s.expect({"NAK 0x60 500"});
    s.send(request(GetParam(), 510));
    s.expect_nothing();
    s.expect_completions({});
    s.send(request(Opcode::WriteOnly, kPsn));  // the missing one re-arms the NAK
    s.expect({"ACK 500"});
    s.send(request(GetParam(), 510));
    s.expect({"NAK 0x60 501"});
}

TEST_P(EachRequest, FromThePastIsAcknowledgedOrReadAgainAndNotExecuted) {
    Script s;
    s.post_receive(4'096);
    s.send(request(Opcode::WriteOnly, kPsn));
    s.send(request(Opcode::WriteOnly, kPsn + 1));
    s.expect({"ACK 501"});
    s.env.region.assign(s.env.region.size(), 0);
    s.send(request(GetParam(), kPsn));
    if (GetParam() == Opcode::ReadRequest)
        s.expect({"READ_RESPONSE_ONLY 500 len 64"});
    else
        s.expect({"ACK 501"});
    EXPECT_EQ(s.env.region, std::vector<std::uint8_t>(s.env.region.size()));
    s.expect_completions({});
    s.send(request(Opcode::WriteOnly, kPsn + 2));
    s.expect({"ACK 502"});
}

TEST_P(EachRequest, FromThePastDoesNotDisturbAMessage) {
    Script s;
    s.post_receive(4'096);
    s.send(request(Opcode::WriteOnly, kPsn));
    s.send(request(Opcode::SendFirst, kPsn + 1));
    s.expect({"ACK 500"});
    s.send(request(GetParam(), kPsn));
    static_cast<void>(s.transmit());
    s.send(request(Opcode::SendLast, kPsn + 2));
    s.expect({"ACK 502"});
    s.expect_completions({"2000 ok recv 1124"});
}

/// In order, outside a message and inside one of each kind: the whole of the sequence rules (IBTA 9.7.4.1.4).
TEST_P(EachRequest, InOrderFollowsTheSequenceRules) {
    const OpcodeInfo& op = opcode_info(static_cast<std::uint8_t>(GetParam()));
    for (const Opcode first : {Opcode::Acknowledge, Opcode::SendFirst, Opcode::WriteFirst}) {
        SCOPED_TRACE(opcode_info(static_cast<std::uint8_t>(first)).name);
        Script s;
        s.post_receive(4'096);
        std::uint32_t psn = kPsn;
        if (first != Opcode::Acknowledge) {
            PeerPacket packet = request(first, psn++);
            packet.dma_length = op.has(kOpMiddle) ? 4'000 : 1'124;
            s.send(packet);
        }
        s.expect_nothing();
        PeerPacket packet = request(GetParam(), psn);
        packet.ack_request = true;
        s.send(packet);
        const bool starts = !op.has(kOpMiddle | kOpLast);
        const bool inside = first != Opcode::Acknowledge;
        const bool same = op.has(kOpSend) == (first == Opcode::SendFirst);
        if (starts ? !inside : (inside && same)) {
            EXPECT_EQ(s.env.states.size(), 0U);
            if (GetParam() == Opcode::ReadRequest)
                s.expect({"READ_RESPONSE_ONLY 500 len 64"});
            else
                s.expect({"ACK " + std::to_string(psn)});
        } else {
            s.expect({"NAK 0x61 " + std::to_string(psn)});
            EXPECT_EQ(s.env.states, std::vector{QpState::Err});
            EXPECT_EQ(s.env.events, std::vector{AsyncEventType::QpReqErr});
            s.expect_completions({"2000 flushed"});
        }
    }
}

// ---- receives

TEST(Responder, RnrNakCarriesTheTimerAndSilencesWhatFollows) {
    Script s({.min_rnr_timer = 12});
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    s.send({.opcode = Opcode::SendOnly, .psn = 501, .payload = {2}});
    s.send({.opcode = Opcode::WriteOnly, .psn = 502, .payload = {3}});
    s.expect({"RNR 12 500"});
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    s.expect({"RNR 12 500"});
    s.post_receive(8);
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    s.expect({"ACK 500"});
    s.expect_completions({"2000 ok recv 1"});
    s.send({.opcode = Opcode::WriteOnly, .psn = 502, .payload = {3}});
    s.expect({"NAK 0x60 501"});
}

TEST(Responder, RnrComesBeforeAWriteWithImmediateIsExecuted) {
    Script s;
    s.send({.opcode = Opcode::WriteFirst, .psn = 500, .payload = pattern(1'024), .dma_length = 1'028});
    s.env.region[1'024] = 77;
    s.send({.opcode = Opcode::WriteLastImm, .psn = 501, .payload = {1, 2, 3, 4}, .imm = 5});
    s.expect({"RNR 12 501"});
    EXPECT_EQ(s.env.region[1'024], 77);
    s.post_receive(0);
    s.send({.opcode = Opcode::WriteLastImm, .psn = 501, .payload = {1, 2, 3, 4}, .imm = 5});
    s.expect({"ACK 501"});
    EXPECT_EQ(s.env.region[1'024], 1);
    s.expect_completions({"2000 ok write-imm 1028 imm 0x5"});
}

TEST(Responder, MessagesUseReceivesInOrder) {
    Script s;
    for (int i = 0; i < 3; ++i) s.post_receive(16);
    s.send({.opcode = Opcode::SendOnly, .psn = 500, .payload = {1}});
    s.send({.opcode = Opcode::WriteOnlyImm, .psn = 501, .payload = {2}, .imm = 9});
    s.send({.opcode = Opcode::SendOnlyImm, .psn = 502, .payload = {3}, .imm = 10});
    s.expect_completions({"2000 ok recv 1", "2001 ok write-imm 1 imm 0x9", "2002 ok recv 1 imm 0xa"});
    s.expect({"ACK 502"});
}

// ---- READ resources, order, replays

TEST(Responder, MoreReadsThanAllowedAreRefusedBehindTheAllowedOnes) {
    Script s({.max_dest_rd_atomic = 2});
    for (std::uint32_t i = 0; i < 3; ++i) s.send({.opcode = Opcode::ReadRequest, .psn = 500 + i, .dma_length = 16});
    s.expect({"READ_RESPONSE_ONLY 500 len 16", "READ_RESPONSE_ONLY 501 len 16", "NAK 0x61 502"});
    EXPECT_EQ(s.env.events, std::vector{AsyncEventType::QpReqErr});
}

TEST(Responder, NakLeavesBehindEarlierResponses) {
    Script s;
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 2'000});
    s.send({.opcode = Opcode::WriteOnly, .psn = 502, .payload = {1}, .rkey = 1});
    s.expect({"READ_RESPONSE_FIRST 500 len 1024", "READ_RESPONSE_LAST 501 len 976", "NAK 0x62 502"});
}

TEST(Responder, SequenceNakLeavesBehindEarlierResponsesToo) {
    Script s;
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 16});
    s.send({.opcode = Opcode::WriteOnly, .psn = 505, .payload = {1}});
    s.expect({"READ_RESPONSE_ONLY 500 len 16", "NAK 0x60 501"});
}

TEST(Responder, ReplayedReadSeesMemoryAsItIsNow) {
    Script s;
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 3'000});
    EXPECT_EQ(s.transmit().size(), 3U);
    s.env.region[1'024] = 42;
    // a partial retry from its second packet on
    s.send({.opcode = Opcode::ReadRequest, .psn = 501, .va = TestEnv::kBase + 1'024, .dma_length = 1'976});
    std::vector<Packet*> out(8);
    out.resize(s.engine.transmit(s.now, out));
    ASSERT_EQ(out.size(), 2U);
    EXPECT_EQ(brief(out[0]->bytes()), "READ_RESPONSE_FIRST 501 len 1024");
    EXPECT_EQ(out[0]->data[14 + 20 + 8 + 12 + 4], 42);
    for (Packet* packet : out) release(packet);
    s.send({.opcode = Opcode::ReadRequest, .psn = 503, .dma_length = 4});
    s.expect({"READ_RESPONSE_ONLY 503 len 4"});
}

TEST(Responder, ReplayOfAReadStillWaitingBeginsItAgain) {
    Script s({.engine = {.quantum_packets = 2}});
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 4'096});
    EXPECT_EQ(s.transmit(2),
              (std::vector<std::string>{"READ_RESPONSE_FIRST 500 len 1024", "READ_RESPONSE_MIDDLE 501 len 1024"}));
    s.send({.opcode = Opcode::ReadRequest, .psn = 501, .va = TestEnv::kBase + 1'024, .dma_length = 3'072});
    s.expect(
        {"READ_RESPONSE_FIRST 501 len 1024", "READ_RESPONSE_MIDDLE 502 len 1024", "READ_RESPONSE_LAST 503 len 1024"});
}

TEST(Responder, ReplayThatIsNoReplayIsDropped) {
    Script s;
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    s.expect({"ACK 500"});
    s.send({.opcode = Opcode::ReadRequest, .psn = 499, .dma_length = 4'096});  // reaches into the future
    s.send({.opcode = Opcode::ReadRequest, .psn = 499, .rkey = 1, .dma_length = 4});
    s.send({.opcode = Opcode::FetchAdd, .psn = 499});
    s.expect_nothing();
    EXPECT_EQ(s.count(EngineCounter::RxDropDuplicateRead), 3U);
    EXPECT_TRUE(s.env.states.empty());
}

TEST(Responder, ReplaysAreBounded) {
    Script s({.max_dest_rd_atomic = 2, .engine = {.quantum_packets = 1}});
    for (std::uint32_t i = 0; i < 8; ++i) {
        s.send({.opcode = Opcode::ReadRequest, .psn = 500 + i, .dma_length = 4});
        EXPECT_EQ(s.transmit().size(), 1U);
    }
    for (std::uint32_t i = 0; i < 8; ++i) s.send({.opcode = Opcode::ReadRequest, .psn = 500 + i, .dma_length = 4});
    s.expect({"READ_RESPONSE_ONLY 500 len 4", "READ_RESPONSE_ONLY 501 len 4"});
    EXPECT_EQ(s.count(EngineCounter::RxDropDuplicateRead), 6U);
}

TEST(Responder, DuplicateAcknowledgementNamesTheLastSendOrWrite) {
    Script s;
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    s.send({.opcode = Opcode::ReadRequest, .psn = 501, .dma_length = 2'048});
    s.expect({"READ_RESPONSE_FIRST 501 len 1024", "READ_RESPONSE_LAST 502 len 1024"});
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
    s.expect({"ACK 500"});  // not 502: that would claim the READ's data had been seen
}

TEST(Responder, SequenceWorksAcrossTheWrap) {
    Script s({.rq_psn = 0xFFFFFF});
    s.send({.opcode = Opcode::ReadRequest, .psn = 0xFFFFFF, .dma_length = 2'048});
    s.send({.opcode = Opcode::WriteOnly, .psn = 1, .payload = {1}});
    s.expect({"READ_RESPONSE_FIRST 16777215 len 1024", "READ_RESPONSE_LAST 0 len 1024", "ACK 1"});
    s.send({.opcode = Opcode::WriteOnly, .psn = 3, .payload = {1}});
    s.expect({"NAK 0x60 2"});
    s.send({.opcode = Opcode::WriteOnly, .psn = 0xFFFFFF, .payload = {1}});
    s.expect({"ACK 1"});
}

// ---- who is not spoken to

TEST(Responder, StrangersAreDroppedAndCounted) {
    Script s;
    const auto dropped = [&s](EngineCounter counter, const PeerPacket& packet) {
        s.send(packet);
        s.expect_nothing();
        EXPECT_EQ(s.count(counter), 1U) << label(counter);
    };
    const PeerPacket good{.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}};
    PeerPacket packet = good;
    packet.pkey = 0x8001;
    dropped(EngineCounter::RxDropPkey, packet);
    packet = good;
    packet.version = 1;
    dropped(EngineCounter::RxDropTransportVersion, packet);
    packet = good;
    packet.destination_qpn = s.qpn ^ 0x010000;
    dropped(EngineCounter::RxDropNoQp, packet);
    packet = good;
    packet.opcode = static_cast<Opcode>(0x2A);  // UC
    dropped(EngineCounter::RxDropOpcode, packet);
    packet.opcode = Opcode::Cnp;
    packet.payload = {};
    dropped(EngineCounter::RxCnp, packet);
    s.send(good);
    s.expect({"ACK 500"});
}

TEST(Responder, AddressesOfThePacketMustBeTheConnections) {
    for (const bool source : {true, false}) {
        Script s;
        Packet* packet = s.make({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}});
        packet->data[14 + (source ? 15 : 19)] ^= 8;
        // seal it again, so that only the address is wrong
        const FrameTemplate frames(address_vector(false, 2, 1));
        frames.seal(packet->data, packet->length - frames.transport_offset() - kIcrcBytes);
        s.engine.receive(s.now, {&packet, 1});
        s.expect_nothing();
        EXPECT_EQ(s.count(EngineCounter::RxDropGid), 1U);
    }
}

TEST(Responder, BadIcrcIsDroppedAndNeverNaked) {
    Script s;
    Packet* packet = s.make({.opcode = Opcode::SendOnly, .psn = 505, .payload = pattern(100)});
    packet->data[packet->length - 20] ^= 1;
    s.engine.receive(s.now, {&packet, 1});
    s.expect_nothing();
    EXPECT_EQ(s.count(EngineCounter::RxDropIcrc), 1U);
}

TEST(Responder, LimitedMembersDoNotTalkToEachOther) {
    Script s;
    s.attributes.pkey = 0x7FFF;
    s.modify(QpState::Rts);
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}, .pkey = 0x7FFF});
    s.expect_nothing();
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .payload = {1}, .pkey = 0xFFFF});
    s.expect({"ACK 500"});
}

TEST(Responder, GarbageNeverDoesMoreThanCount) {
    Script s;
    std::uint32_t random = 1;
    for (int i = 0; i < 5'000; ++i) {
        Packet* packet = s.make({.opcode = static_cast<Opcode>(i % 32), .psn = 500, .payload = pattern(40)});
        for (int n = 0; n < 3; ++n) {
            random = random * 1'664'525U + 1'013'904'223U;
            packet->data[14 + (random >> 8) % (packet->length - 14)] ^= static_cast<std::uint8_t>(random >> 24 | 1);
        }
        random = random * 1'664'525U + 1'013'904'223U;
        packet->resize(14 + (random >> 8) % (packet->length - 13));
        s.engine.receive(s.now, {&packet, 1});
    }
    EXPECT_TRUE(s.env.states.empty());
    EXPECT_EQ(s.count(EngineCounter::RxPackets), 5'000U);
}

}  // namespace
}  // namespace vroce::nic::test
