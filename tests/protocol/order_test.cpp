// Order and limits among work requests: FENCE, outstanding READs, windows, turns.
#include <gtest/gtest.h>

#include <memory>

#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

void respond(Script& s, std::uint32_t psn, std::size_t bytes) {
    s.send({.opcode = Opcode::ReadResponseOnly, .psn = psn, .payload = pattern(bytes)});
}

TEST(Order, FenceWaitsForEarlierReadsOnly) {
    Script s;
    s.post(WrOpcode::Read, 4);
    s.post(WrOpcode::Write, 4);
    s.post(WrOpcode::Write, 4, kSendSignaled | kSendFence);
    s.post(WrOpcode::Read, 4);
    s.expect({"READ_REQUEST 100 A at 0 dma 4", "WRITE_ONLY 101 A len 4"});
    respond(s, 100, 4);
    s.expect({"WRITE_ONLY 102 A len 4", "READ_REQUEST 103 A at 0 dma 4"});
    s.ack(102);
    respond(s, 103, 4);
    s.expect_completions({"1000 ok", "1001 ok", "1002 ok", "1003 ok"});
}

TEST(Order, FenceOnAReadWaitsForEarlierReads) {
    Script s;
    s.post(WrOpcode::Read, 4);
    s.post(WrOpcode::Read, 4, kSendSignaled | kSendFence);
    s.expect({"READ_REQUEST 100 A at 0 dma 4"});
    respond(s, 100, 4);
    s.expect({"READ_REQUEST 101 A at 0 dma 4"});
}

TEST(Order, FenceWithoutReadsIsNothing) {
    Script s;
    s.post(WrOpcode::Write, 4);
    s.post(WrOpcode::Write, 4, kSendSignaled | kSendFence);
    s.expect({"WRITE_ONLY 100 A len 4", "WRITE_ONLY 101 A len 4"});
}

TEST(Order, FencedWorkThatWasSentIsSentAgainBeforeLaterReads) {
    Script s;
    s.post(WrOpcode::Write, 4, kSendSignaled | kSendFence);
    s.post(WrOpcode::Read, 4);
    s.expect({"WRITE_ONLY 100 A len 4", "READ_REQUEST 101 A at 0 dma 4"});
    s.nak(100, 0x60);
    s.expect({"WRITE_ONLY 100 A len 4", "READ_REQUEST 101 A at 0 dma 4"});
}

TEST(Order, OutstandingReadsAreLimitedAndHoldWhatFollows) {
    Script s({.max_rd_atomic = 2});
    for (int i = 0; i < 3; ++i) s.post(WrOpcode::Read, 4);
    s.post(WrOpcode::Send, 4);
    s.expect({"READ_REQUEST 100 A at 0 dma 4", "READ_REQUEST 101 A at 0 dma 4"});
    respond(s, 100, 4);
    s.expect({"READ_REQUEST 102 A at 0 dma 4", "SEND_ONLY 103 A len 4"});
}

TEST(Order, ReadsSentAgainAreStillLimited) {
    Script s({.max_rd_atomic = 2});
    for (int i = 0; i < 3; ++i) s.post(WrOpcode::Read, 4);
    static_cast<void>(s.transmit());
    s.at(s.engine.next_deadline());
    s.expire();
    s.expect({"READ_REQUEST 100 A at 0 dma 4", "READ_REQUEST 101 A at 0 dma 4"});
    respond(s, 100, 4);
    respond(s, 101, 4);
    s.expect({"READ_REQUEST 102 A at 0 dma 4"});
    respond(s, 102, 4);
    s.expect_completions({"1000 ok", "1001 ok", "1002 ok"});
}

TEST(Order, LongReadsAreAskedForInPartsThatFitTheWindow) {
    Script s({.engine = {.qp_window_bytes = 8'192}});
    s.post(WrOpcode::Read, 10'000);
    s.expect({"READ_REQUEST 100 A at 0 dma 4096"});  // the second part would not fit beside it
    for (std::uint32_t i = 0; i < 4; ++i) {
        const Opcode opcode = i == 0   ? Opcode::ReadResponseFirst
                              : i == 3 ? Opcode::ReadResponseLast
                                       : Opcode::ReadResponseMiddle;
        s.send({.opcode = opcode, .psn = 100 + i, .payload = pattern(1'024)});
    }
    s.expect({"READ_REQUEST 104 A at 4096 dma 4096", "READ_REQUEST 108 A at 8192 dma 1808"});
    s.at(s.engine.next_deadline());
    s.expire();
    s.expect({"READ_REQUEST 104 A at 4096 dma 4096"});  // alone, while recovering
    for (std::uint32_t i = 4; i < 8; ++i) {
        const Opcode opcode = i == 4   ? Opcode::ReadResponseFirst
                              : i == 7 ? Opcode::ReadResponseLast
                                       : Opcode::ReadResponseMiddle;
        s.send({.opcode = opcode, .psn = 100 + i, .payload = pattern(1'024)});
    }
    s.expect({"READ_REQUEST 108 A at 8192 dma 1808"});
}

TEST(Order, WindowStopsTheRequesterAndItsLastPacketAsks) {
    Script s({.engine = {.qp_window_bytes = 3 * (1'024 + 64)}});
    s.post(WrOpcode::Write, 8'192);
    s.expect({"WRITE_FIRST 100 len 1024", "WRITE_MIDDLE 101 len 1024", "WRITE_MIDDLE 102 A len 1024"});
    s.ack(100);
    s.expect({"WRITE_MIDDLE 103 A len 1024"});
    EXPECT_GE(s.count(EngineCounter::TxQpWindowFull), 1U);
}

TEST(Order, WindowSmallerThanAPacketStillMoves) {
    Script s({.engine = {.qp_window_bytes = 1}});
    s.post(WrOpcode::Write, 2'048);
    s.expect({"WRITE_FIRST 100 A len 1024"});
    s.ack(100);
    s.expect({"WRITE_LAST 101 A len 1024"});
}

TEST(Order, AfterATimeoutTheWindowIsSmallUntilProgress) {
    Script s({.engine = {.qp_window_bytes = 16 * (1'024 + 64)}});
    s.post(WrOpcode::Write, 32 * 1'024);
    EXPECT_EQ(s.transmit().size(), 16U);
    s.at(s.engine.next_deadline());
    s.expire();
    EXPECT_EQ(s.transmit().size(), 2U);
    s.ack(101);
    EXPECT_EQ(s.transmit().size(), 16U);
}

TEST(Order, RingOfExactlyItsSizeIsUsable) {
    Script s({.send_slots = 4});
    for (int i = 0; i < 6; ++i) s.env.post(WrOpcode::Send, {}, kSendSignaled);
    s.ring();
    EXPECT_EQ(s.transmit().size(), 4U);
    s.ack(100);
    s.expect({"SEND_ONLY 104 A len 0"});
}

/// Several queue pairs of one engine.
class Sharing : public testing::Test {
protected:
    void start(const EngineConfig& config, std::size_t count) {
        engine = std::make_unique<Engine>(config, pool);
        QpAttributes attributes;
        attributes.av = address_vector(false, 1, 2);
        attributes.path_mtu_bytes = 1'024;
        attributes.timeout = 14;
        attributes.retry_count = 7;
        for (std::uint32_t i = 0; i < count; ++i) {
            envs.push_back(std::make_unique<TestEnv>());
            qpns.push_back(engine->create_qp(*envs.back(), {}));
            attributes.destination_qpn = i;
            for (const QpState state : {QpState::Init, QpState::Rtr, QpState::Rts})
                engine->modify_qp(now, qpns.back(), state, attributes);
        }
    }
    void post(std::size_t qp, std::size_t bytes) {
        envs[qp]->post(WrOpcode::Write, pattern(bytes));
        engine->doorbell(now, qpns[qp]);
    }
    /// Which queue pair each packet is of.
    std::vector<std::uint32_t> transmit(std::size_t most) {
        std::vector<Packet*> out(most);
        out.resize(engine->transmit(now, out));
        std::vector<std::uint32_t> owners;
        for (Packet* packet : out) {
            owners.push_back(load_be24(packet->data + 14 + 20 + 8 + 5));
            release(packet);
        }
        return owners;
    }
    void ack(std::size_t qp, std::uint32_t psn) {
        const FrameTemplate frames(address_vector(false, 2, 1));
        Packet* packet = pool.alloc();
        packet->resize(static_cast<std::uint32_t>(frames.transport_offset()) + 16 + 4);
        frames.write_front(packet->data, 16);
        Bth{.opcode = 0x11, .destination_qpn = qpns[qp], .psn = Psn(psn)}.store(packet->data + 42);
        Aeth{0x1F, 0}.store(packet->data + 54);
        frames.seal(packet->data, 16);
        engine->receive(now, {&packet, 1});
    }

    SlabPool pool{4'096, 4'400};
    Instant now{1'000'000};
    std::vector<std::unique_ptr<TestEnv>> envs;
    std::vector<std::uint32_t> qpns;
    std::unique_ptr<Engine> engine;
};

TEST_F(Sharing, TurnsAreAQuantumEach) {
    start({.quantum_packets = 2}, 3);
    for (std::size_t qp = 0; qp < 3; ++qp) post(qp, 4'096);
    EXPECT_EQ(transmit(64), (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
}

TEST_F(Sharing, SmallBurstsShareAlike) {
    start({.quantum_packets = 2}, 2);
    for (std::size_t qp = 0; qp < 2; ++qp) post(qp, 4'096);
    std::vector<std::uint32_t> seen;
    for (int i = 0; i < 8; ++i) seen.push_back(transmit(1).at(0));
    EXPECT_EQ(std::count(seen.begin(), seen.begin() + 4, 0U), 2);
}

TEST_F(Sharing, PortWindowBoundsAllAndIsSharedInTurns) {
    start({.port_window_bytes = 4 * (1'024 + 64), .quantum_packets = 1}, 3);
    for (std::size_t qp = 0; qp < 3; ++qp) post(qp, 4'096);
    EXPECT_EQ(transmit(64), (std::vector<std::uint32_t>{0, 1, 2, 0}));
    EXPECT_GT(engine->next_deadline(), now);
    EXPECT_EQ(engine->counters()[EngineCounter::TxPortWindowFull], 1U);
    ack(2, 0);
    EXPECT_EQ(transmit(64), (std::vector<std::uint32_t>{1}));
    ack(0, 1);
    EXPECT_EQ(transmit(64), (std::vector<std::uint32_t>{2, 0}));
}

TEST_F(Sharing, DeadPeersDoNotKeepThePortFromTheLiving) {
    start({.qp_window_bytes = 2 * (1'024 + 64), .port_window_bytes = 4 * (1'024 + 64)}, 3);
    for (std::size_t qp = 0; qp < 3; ++qp) post(qp, 4'096);
    EXPECT_EQ(transmit(64).size(), 4U);
    now = engine->next_deadline();
    EXPECT_EQ(now, Instant{1'000'000} + milliseconds(2));
    EXPECT_EQ(transmit(64), (std::vector<std::uint32_t>{2, 2}));
    EXPECT_EQ(engine->counters()[EngineCounter::PortChargeExpired], 2U);
}

TEST_F(Sharing, DestroyingTheOneThatIsBlockedFreesTheOthers) {
    start({.port_window_bytes = 2 * (1'024 + 64), .quantum_packets = 1}, 3);
    for (std::size_t qp = 0; qp < 3; ++qp) post(qp, 4'096);
    EXPECT_EQ(transmit(64), (std::vector<std::uint32_t>{0, 1}));
    engine->destroy_qp(qpns[2]);
    engine->destroy_qp(qpns[0]);
    EXPECT_EQ(transmit(64), (std::vector<std::uint32_t>{1}));
}

TEST_F(Sharing, AThousandIdleQueuePairsCostNothing) {
    start({}, 1'000);
    post(500, 10);
    std::size_t before = 0;
    for (const auto& env : envs) before += env->fetches;
    EXPECT_EQ(transmit(64), std::vector<std::uint32_t>{500});
    std::size_t after = 0;
    for (const auto& env : envs) after += env->fetches;
    EXPECT_LE(after - before, 1'003U) << "each was looked at once when it came to RTS, and not again";
    EXPECT_TRUE(transmit(64).empty());
    std::size_t idle = 0;
    for (const auto& env : envs) idle += env->fetches;
    EXPECT_EQ(idle, after);
}

}  // namespace
}  // namespace vroce::nic::test
