// What comes in one burst lands in one copy, and looks as if each packet had landed by itself.
#include <gtest/gtest.h>

#include "nic/transport/engine_counters.hpp"
#include "nic/transport/landing.hpp"
#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

constexpr std::uint32_t kMtu = 1'024;

/// A message of the peer's in packets of the path MTU, without an acknowledge request but at its end.
std::vector<PeerPacket> write_message(std::uint32_t psn, const std::vector<std::uint8_t>& data) {
    const std::size_t packets = data.size() / kMtu;
    std::vector<PeerPacket> out;
    for (std::size_t i = 0; i < packets; ++i) {
        const Opcode opcode = i == 0 ? Opcode::WriteFirst : i + 1 == packets ? Opcode::WriteLast : Opcode::WriteMiddle;
        const auto from = data.begin() + static_cast<std::ptrdiff_t>(i * kMtu);
        out.push_back({.opcode = opcode,
                       .psn = psn + static_cast<std::uint32_t>(i),
                       .payload = std::vector<std::uint8_t>(from, from + kMtu),
                       .ack_request = i + 1 == packets,
                       .dma_length = static_cast<std::uint32_t>(data.size())});
    }
    return out;
}

TEST(Landings, AMessageInOneBurstIsOneCopy) {
    Script s;
    const auto data = pattern(16 * kMtu);
    s.send_together(write_message(500, data));
    EXPECT_EQ(s.env.landings, 1U);
    EXPECT_EQ(s.env.lasts, 1U);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), s.env.region.begin()));
    s.expect({"ACK 515"});
    EXPECT_EQ(s.pool.in_use(), 0U);
}

TEST(Landings, NothingWaitsForTheNextBurst) {
    Script s;
    const auto data = pattern(4 * kMtu);
    auto packets = write_message(500, data);
    packets.pop_back();
    s.send_together(packets);
    EXPECT_EQ(s.env.landings, 1U);
    EXPECT_TRUE(std::equal(data.begin(), data.end() - kMtu, s.env.region.begin()));
    EXPECT_EQ(s.pool.in_use(), 0U);
    s.expect_nothing();
}

TEST(Landings, AMessageLongerThanALandingIsLandedInParts) {
    Script s;
    const auto data = pattern((Landing::kMostFrames + 8) * kMtu);
    s.send_together(write_message(500, data));
    EXPECT_EQ(s.env.landings, 2U);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), s.env.region.begin()));
    s.expect({"ACK " + std::to_string(500 + Landing::kMostFrames + 7)});
}

TEST(Landings, AnAcknowledgeRequestInTheMiddleIsAnsweredWhenAllBeforeItHasLanded) {
    Script s;
    auto packets = write_message(500, pattern(8 * kMtu));
    packets[3].ack_request = true;
    s.send_together(packets);
    EXPECT_EQ(s.env.landings, 2U);
    s.expect({"ACK 507"});
}

TEST(Landings, AGapLandsWhatCameBeforeItAndIsNakedOnce) {
    Script s;
    const auto data = pattern(8 * kMtu);
    auto packets = write_message(500, data);
    packets.erase(packets.begin() + 4);
    s.send_together(packets);
    EXPECT_EQ(s.env.landings, 1U);
    EXPECT_TRUE(std::equal(data.begin(), data.begin() + 4 * kMtu, s.env.region.begin()));
    EXPECT_EQ(s.env.region[4 * kMtu], 0);
    s.expect({"NAK 0x60 504"});
}

TEST(Landings, ARefusedPacketLetsThoseBeforeItLand) {
    Script s;
    const auto data = pattern(8 * kMtu);
    auto packets = write_message(500, data);
    packets[5].payload.resize(100);  // a MIDDLE must be as long as the path MTU
    s.send_together(packets);
    EXPECT_TRUE(std::equal(data.begin(), data.begin() + 5 * kMtu, s.env.region.begin()));
    s.expect({"NAK 0x61 505"});
}

TEST(Landings, AFaultIsTheFirstPacketsOfWhatWasGathered) {
    Script s;
    s.env.write_remote_result = CopyResult::Fault;
    s.send_together(write_message(500, pattern(8 * kMtu)));
    s.expect({"NAK 0x62 500"});
    EXPECT_EQ(s.engine.query_qp(s.qpn).state, QpState::Err);
    EXPECT_EQ(s.pool.in_use(), 0U);
}

TEST(Landings, TwoMessagesAreTwoCopiesAndTwoCompletionsInOrder) {
    Script s;
    s.post_receive(100);
    s.post_receive(100);
    s.send_together({{.opcode = Opcode::SendOnly, .psn = 500, .payload = pattern(100)},
                     {.opcode = Opcode::SendOnly, .psn = 501, .payload = pattern(50)}});
    EXPECT_EQ(s.env.landings, 2U);
    s.expect_completions({"2000 ok recv 100", "2001 ok recv 50"});
}

TEST(Landings, ReadDataInOneBurstIsOneCopy) {
    Script s;
    s.post(WrOpcode::Read, 4 * kMtu);
    static_cast<void>(s.transmit());
    const auto data = pattern(4 * kMtu, 9);
    std::vector<PeerPacket> packets;
    for (std::uint32_t i = 0; i < 4; ++i)
        packets.push_back(
            {.opcode = i == 0   ? Opcode::ReadResponseFirst
                       : i == 3 ? Opcode::ReadResponseLast
                                : Opcode::ReadResponseMiddle,
             .psn = 100 + i,
             .payload = std::vector<std::uint8_t>(data.begin() + i * kMtu, data.begin() + (i + 1) * kMtu)});
    s.send_together(packets);
    EXPECT_EQ(s.env.landings, 1U);
    EXPECT_EQ(s.env.sends[0].data, data);
    s.expect_completions({"1000 ok"});
}

TEST(Landings, ALostReadResponseLandsWhatCameAndIsAskedForAgain) {
    Script s;
    s.post(WrOpcode::Read, 4 * kMtu);
    static_cast<void>(s.transmit());
    s.send_together({{.opcode = Opcode::ReadResponseFirst, .psn = 100, .payload = pattern(kMtu)},
                     {.opcode = Opcode::ReadResponseMiddle, .psn = 101, .payload = pattern(kMtu)},
                     {.opcode = Opcode::ReadResponseLast, .psn = 103, .payload = pattern(kMtu)}});
    EXPECT_EQ(s.env.landings, 1U);
    EXPECT_EQ(s.count(EngineCounter::ImpliedNaks), 1U);
    s.expect({"READ_REQUEST 102 A at 2048 dma 2048"});
}

TEST(Landings, RequestsAndReadDataOfOneBurstKeepTheirOrder) {
    Script s;
    s.post(WrOpcode::Read, 2 * kMtu);
    static_cast<void>(s.transmit());
    s.send_together({{.opcode = Opcode::WriteFirst, .psn = 500, .payload = pattern(kMtu), .dma_length = 2 * kMtu},
                     {.opcode = Opcode::ReadResponseFirst, .psn = 100, .payload = pattern(kMtu)},
                     {.opcode = Opcode::ReadResponseLast, .psn = 101, .payload = pattern(kMtu)},
                     {.opcode = Opcode::WriteLast, .psn = 501, .payload = pattern(kMtu), .ack_request = true}});
    EXPECT_EQ(s.env.landings, 3U);
    s.expect_completions({"1000 ok"});
    s.expect({"ACK 501"});
}

TEST(Landings, ACopyElsewhereKeepsAllItsPacketsAndOthersWait) {
    Script s;
    s.env.write_remote_result = CopyResult::Pending;
    auto packets = write_message(500, pattern(4 * kMtu));
    packets.push_back({.opcode = Opcode::WriteOnly, .psn = 504, .payload = {1}});
    s.send_together(packets);
    EXPECT_EQ(s.pool.in_use(), 5U);
    s.expect_nothing();
    s.env.write_remote_result = CopyResult::Done;
    s.engine.on_copy_done(s.now, s.qpn, CopyDirection::Receive, true);
    s.expect({"ACK 504"});
    EXPECT_EQ(s.pool.in_use(), 0U);
}

}  // namespace
}  // namespace vroce::nic::test
