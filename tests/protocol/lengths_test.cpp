// Lengths of packets and messages: what the responder takes and what it refuses (IBTA 9.7.4.1.6).
#include <gtest/gtest.h>

#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

constexpr std::uint32_t kPsn = 500;

struct LengthCase {
    const char* name;
    std::vector<PeerPacket> packets;
    bool good;
};
void PrintTo(const LengthCase& c, std::ostream* out) {
    *out << c.name;
}

class Lengths : public testing::TestWithParam<LengthCase> {};
TEST_P(Lengths, AreHeldToTheRules) {
    Script s;
    s.post_receive(8'192);
    std::uint32_t psn = kPsn;
    for (PeerPacket packet : GetParam().packets) {
        packet.psn = psn++;
        s.send(packet);
    }
    const auto seen = s.transmit();
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0], (GetParam().good ? "ACK " : "NAK 0x61 ") + std::to_string(psn - 1));
    EXPECT_EQ(s.env.states.empty(), GetParam().good);
}
INSTANTIATE_TEST_SUITE_P(
    All, Lengths,
    testing::Values(
        LengthCase{"send only empty", {{.opcode = Opcode::SendOnly}}, true},
        LengthCase{"send only of the MTU", {{.opcode = Opcode::SendOnly, .payload = pattern(1'024)}}, true},
        LengthCase{"send only beyond the MTU", {{.opcode = Opcode::SendOnly, .payload = pattern(1'025)}}, false},
        LengthCase{"send first below the MTU", {{.opcode = Opcode::SendFirst, .payload = pattern(1'020)}}, false},
        LengthCase{"send last empty",
                   {{.opcode = Opcode::SendFirst, .payload = pattern(1'024)}, {.opcode = Opcode::SendLast}},
                   false},
        LengthCase{"send middle short",
                   {{.opcode = Opcode::SendFirst, .payload = pattern(1'024)},
                    {.opcode = Opcode::SendMiddle, .payload = pattern(4)}},
                   false},
        LengthCase{
            "send last of one byte",
            {{.opcode = Opcode::SendFirst, .payload = pattern(1'024)}, {.opcode = Opcode::SendLast, .payload = {1}}},
            true},
        LengthCase{"write only shorter than promised",
                   {{.opcode = Opcode::WriteOnly, .payload = pattern(8), .dma_length = 9}},
                   false},
        LengthCase{"write only longer than promised",
                   {{.opcode = Opcode::WriteOnly, .payload = pattern(8), .dma_length = 7}},
                   false},
        LengthCase{"write first that promises one packet",
                   {{.opcode = Opcode::WriteFirst, .payload = pattern(1'024), .dma_length = 1'024}},
                   false},
        LengthCase{"write last short of the promise",
                   {{.opcode = Opcode::WriteFirst, .payload = pattern(1'024), .dma_length = 1'030},
                    {.opcode = Opcode::WriteLast, .payload = pattern(5)}},
                   false},
        LengthCase{"write middle beyond the promise",
                   {{.opcode = Opcode::WriteFirst, .payload = pattern(1'024), .dma_length = 1'030},
                    {.opcode = Opcode::WriteMiddle, .payload = pattern(1'024)}},
                   false},
        LengthCase{"write as promised",
                   {{.opcode = Opcode::WriteFirst, .payload = pattern(1'024), .dma_length = 1'030},
                    {.opcode = Opcode::WriteLast, .payload = pattern(6)}},
                   true},
        LengthCase{"write beyond 2^31",
                   {{.opcode = Opcode::WriteFirst, .payload = pattern(1'024), .dma_length = 0x8000'0001}},
                   false},
        LengthCase{"read beyond 2^31", {{.opcode = Opcode::ReadRequest, .dma_length = 0x8000'0001}}, false}));

TEST(Length, EmptyWriteAndReadLookAtNoKey) {
    Script s;
    s.send({.opcode = Opcode::WriteOnly, .psn = 500, .va = 0, .rkey = 0});
    s.expect({"ACK 500"});
    s.send({.opcode = Opcode::ReadRequest, .psn = 501, .va = 0, .rkey = 0});
    s.expect({"READ_RESPONSE_ONLY 501 len 0"});
    EXPECT_EQ(s.env.remote_checks, 0U);
}

TEST(Length, ReadOf2To23PacketsIsRefused) {
    Script s({.mtu = 256});
    s.env.remote_access = RemoteAccess::Ok;
    s.send({.opcode = Opcode::ReadRequest, .psn = 500, .dma_length = 1U << 31});
    s.expect({"NAK 0x61 500"});
}

}  // namespace
}  // namespace vroce::nic::test
