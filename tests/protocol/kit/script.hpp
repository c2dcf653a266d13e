// Protocol scripts: one engine with one queue pair, a peer that is the test itself, and a clock that only the test
// moves.
//
//     Script s;
//     s.post(WrOpcode::Write, 2'500);
//     s.expect({"WRITE_FIRST 100 len 1024", "WRITE_MIDDLE 101 len 1024", "WRITE_LAST 102 A len 452"});
//     s.ack(102);
//     s.expect_completions({"1000 ok"});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/packet/slab_pool.hpp"
#include "nic/transport/engine.hpp"
#include "nic/transport/engine_counters.hpp"
#include "nic/wire/frame_template.hpp"
#include "nic/wire/opcode.hpp"
#include "tests/protocol/kit/test_env.hpp"

namespace vroce::nic::test {

struct Setup {
    std::uint32_t mtu = 1'024;
    std::uint32_t sq_psn = 100;
    std::uint32_t rq_psn = 500;
    std::uint8_t timeout = 14;
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry = 7;
    std::uint8_t min_rnr_timer = 12;
    std::uint8_t max_rd_atomic = 4;
    std::uint8_t max_dest_rd_atomic = 4;
    std::uint32_t access = kAccessRemoteWrite | kAccessRemoteRead;
    bool signal_all = false;
    bool ipv6 = false;
    QpState state = QpState::Rts;
    EngineConfig engine{};
    std::size_t pool_packets = 320;
    std::uint32_t pool_frame_bytes = 4'400;
    std::uint32_t send_slots = 0;
};

/// A packet from the scripted peer; what is not given has the value that fits.
struct PeerPacket {
    Opcode opcode = Opcode::SendOnly;
    std::uint32_t psn = 0;
    std::vector<std::uint8_t> payload{};
    bool ack_request = false;
    bool solicited = false;
    std::uint64_t va = TestEnv::kBase;
    std::uint32_t rkey = TestEnv::kRkey;
    std::optional<std::uint32_t> dma_length{};  ///< default: payload's length
    std::uint8_t syndrome = 0x1F;
    std::uint32_t imm = 0;
    std::uint16_t pkey = 0xFFFF;
    std::uint8_t version = 0;
    std::optional<std::uint32_t> destination_qpn{};
};

/// One packet in few words: "WRITE_FIRST 100 len 1024", "ACK 100", "NAK 0x60 100", "RNR 12 100",
/// "READ_REQUEST 100 A at 0 dma 4096"; "bad ICRC" when it is.
std::string brief(std::span<const std::uint8_t> frame);
std::string brief(const Completion& completion);

AddressVector address_vector(bool ipv6, std::uint8_t from, std::uint8_t to);
/// `count` bytes that tell their place.
std::vector<std::uint8_t> pattern(std::size_t count, std::uint32_t seed = 1);

class Script {
public:
    static constexpr std::uint32_t kPeerQpn = 0x222;

    explicit Script(const Setup& setup = {});
    ~Script();

    // ---- the application
    SendWqe& post(WrOpcode opcode, std::size_t bytes, std::uint8_t flags = kSendSignaled,
                  std::uint64_t remote_offset = 0);
    void post_receive(std::size_t bytes) { env.post_receive(bytes); }
    void modify(QpState to);
    void ring() { engine.doorbell(now, qpn); }

    // ---- the peer
    void send(const PeerPacket& packet) { send_together({packet}); }
    /// In one burst.
    void send_together(const std::vector<PeerPacket>& packets) {
        std::vector<Packet*> burst;
        for (const PeerPacket& packet : packets) burst.push_back(make(packet));
        engine.receive(now, burst);
    }
    Packet* make(const PeerPacket& packet);
    void ack(std::uint32_t psn) { send({.opcode = Opcode::Acknowledge, .psn = psn}); }
    void nak(std::uint32_t psn, std::uint8_t syndrome) {
        send({.opcode = Opcode::Acknowledge, .psn = psn, .syndrome = syndrome});
    }
    void rnr(std::uint32_t psn, std::uint8_t timer) { nak(psn, static_cast<std::uint8_t>(0x20 | timer)); }

    // ---- the clock
    void at(Instant t) { now = t; }
    void advance(Duration d) { now += d; }
    /// Lets timers expire as the host does: on_timeout only; expect() does the sending.
    void expire() { engine.on_timeout(now); }

    // ---- what must be seen, exactly
    void expect(const std::vector<std::string>& packets);
    void expect_nothing() { expect({}); }
    /// All completions since the last call.
    void expect_completions(const std::vector<std::string>& completions);
    void expect_deadline(Instant t);
    [[nodiscard]] std::vector<std::string> transmit(std::size_t most = 512);
    [[nodiscard]] std::uint64_t count(EngineCounter counter) const { return engine.counters()[counter]; }

    SlabPool pool;
    TestEnv env;
    Engine engine;
    Instant now{1'000'000'000};
    QpAttributes attributes;
    std::uint32_t qpn = 0;

private:
    AddressVector peer_av_;
    std::size_t completions_seen_ = 0;
};

}  // namespace vroce::nic::test
