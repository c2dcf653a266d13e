// The script's machinery.
#include "tests/protocol/kit/script.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "nic/wire/describe.hpp"
#include "nic/wire/frame.hpp"

namespace vroce::nic::test {
namespace {

std::string_view text(WcStatus status) {
    switch (status) {
        case WcStatus::Success:
            return "ok";
        case WcStatus::LocLenErr:
            return "LOC_LEN";
        case WcStatus::LocQpOpErr:
            return "LOC_QP_OP";
        case WcStatus::LocProtErr:
            return "LOC_PROT";
        case WcStatus::WrFlushErr:
            return "flushed";
        case WcStatus::BadRespErr:
            return "BAD_RESP";
        case WcStatus::RemInvReqErr:
            return "REM_INV_REQ";
        case WcStatus::RemAccessErr:
            return "REM_ACCESS";
        case WcStatus::RemOpErr:
            return "REM_OP";
        case WcStatus::RetryExcErr:
            return "RETRY_EXC";
        case WcStatus::RnrRetryExcErr:
            return "RNR_RETRY_EXC";
        case WcStatus::FatalErr:
            return "FATAL";
        case WcStatus::GeneralErr:
            return "GENERAL";
    }
    return "?";
}

std::string brief_acknowledge(const RoceFrame& frame) {
    const std::uint8_t syndrome = frame.aeth().syndrome;
    const std::uint32_t psn = frame.bth.psn.value();
    if ((syndrome & kSyndromeKindMask) == kSyndromeKindAck) return fmt::format("ACK {}", psn);
    if ((syndrome & kSyndromeKindMask) == kSyndromeKindRnr)
        return fmt::format("RNR {} {}", syndrome & kSyndromeValueMask, psn);
    return fmt::format("NAK {:#04x} {}", syndrome, psn);
}

}  // namespace

std::string brief(std::span<const std::uint8_t> bytes) {
    RoceFrame frame;
    const std::size_t l3 = locate_l3(bytes);
    if (l3 == 0 || parse_envelope(bytes.subspan(l3), frame) != FrameVerdict::Ok ||
        parse_transport(frame) != FrameVerdict::Ok)
        return "malformed: " + describe(bytes);
    if (!icrc_ok(frame)) return "bad ICRC: " + describe(bytes);
    if (frame.op->has(kOpAcknowledge)) return brief_acknowledge(frame);
    std::string line = fmt::format("{} {}", frame.op->name, frame.bth.psn.value());
    if (frame.bth.ack_request) line += " A";
    if (frame.bth.solicited) line += " SE";
    if (frame.op->has(kOpReadRequest))
        line += fmt::format(" at {} dma {}", frame.reth().va - TestEnv::kBase, frame.reth().length);
    if (frame.op->has(kOpPayload)) line += fmt::format(" len {}", frame.payload.size());
    return line;
}

std::string brief(const Completion& completion) {
    std::string line = fmt::format("{} {}", completion.wr_id, text(completion.status));
    if (completion.receive && completion.status == WcStatus::Success)
        line += fmt::format(" {} {}", completion.opcode == WcOpcode::RecvRdmaWithImm ? "write-imm" : "recv",
                            completion.byte_len);
    if (completion.with_imm) line += fmt::format(" imm {:#x}", completion.imm);
    if (completion.solicited) line += " SE";
    return line;
}

AddressVector address_vector(bool ipv6, std::uint8_t from, std::uint8_t to) {
    const auto gid = [ipv6](std::uint8_t host) {
        Gid g;
        if (ipv6)
            g.bytes = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host};
        else
            g.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, host};
        return g;
    };
    AddressVector av;
    av.source_mac.bytes = {2, 0, 0, 0, 0, from};
    av.destination_mac.bytes = {2, 0, 0, 0, 0, to};
    av.source = gid(from);
    av.destination = gid(to);
    return av;
}

std::vector<std::uint8_t> pattern(std::size_t count, std::uint32_t seed) {
    std::vector<std::uint8_t> bytes(count);
    std::uint32_t state = seed * 2'654'435'761U + 1;
    for (std::uint8_t& byte : bytes) {
        state = state * 1'664'525U + 1'013'904'223U;
        byte = static_cast<std::uint8_t>(state >> 24);
    }
    return bytes;
}

Script::Script(const Setup& setup)
    : pool(setup.pool_packets, setup.pool_frame_bytes),
      engine(setup.engine, pool),
      peer_av_(address_vector(setup.ipv6, 2, 1)) {
    attributes.av = address_vector(setup.ipv6, 1, 2);
    attributes.destination_qpn = kPeerQpn;
    attributes.path_mtu_bytes = setup.mtu;
    attributes.rq_psn = setup.rq_psn;
    attributes.sq_psn = setup.sq_psn;
    attributes.access = setup.access;
    attributes.max_rd_atomic = setup.max_rd_atomic;
    attributes.max_dest_rd_atomic = setup.max_dest_rd_atomic;
    attributes.min_rnr_timer = setup.min_rnr_timer;
    attributes.timeout = setup.timeout;
    attributes.retry_count = setup.retry_count;
    attributes.rnr_retry = setup.rnr_retry;
    qpn = engine.create_qp(env, {.send_slots = setup.send_slots, .recv_slots = 0, .signal_all = setup.signal_all});
    for (const QpState state : {QpState::Init, QpState::Rtr, QpState::Rts})
        if (state <= setup.state) modify(state);
}

Script::~Script() {
    static_cast<void>(transmit());
    engine.destroy_qp(qpn);
    static_cast<void>(transmit());
    EXPECT_EQ(pool.in_use(), 0U) << "packets lost";
}

void Script::modify(QpState to) {
    engine.modify_qp(now, qpn, to, attributes);
}

SendWqe& Script::post(WrOpcode opcode, std::size_t bytes, std::uint8_t flags, std::uint64_t remote_offset) {
    SendWqe& wqe = env.post(opcode, pattern(bytes, static_cast<std::uint32_t>(env.sends.size())), flags, remote_offset);
    ring();
    return wqe;
}

Packet* Script::make(const PeerPacket& p) {
    const FrameTemplate frames(peer_av_);
    const OpcodeInfo& op = opcode_info(static_cast<std::uint8_t>(p.opcode));
    const std::size_t pad = -p.payload.size() & 3;
    const std::size_t transport_bytes = Bth::kBytes + op.header_bytes + p.payload.size() + pad;
    Packet* packet = pool.alloc();
    packet->resize(static_cast<std::uint32_t>(frames.transport_offset() + transport_bytes + kIcrcBytes));
    packet->meta.l3_offset = static_cast<std::uint16_t>(frames.l3_offset());
    frames.write_front(packet->data, transport_bytes);
    std::uint8_t* at = packet->data + frames.transport_offset();
    const Bth bth{.opcode = static_cast<std::uint8_t>(p.opcode),
                  .solicited = p.solicited,
                  .pad = static_cast<std::uint8_t>(pad),
                  .version = p.version,
                  .pkey = p.pkey,
                  .destination_qpn = p.destination_qpn.value_or(qpn),
                  .ack_request = p.ack_request,
                  .psn = Psn(p.psn)};
    bth.store(at);
    at += Bth::kBytes;
    if (op.has(kHasReth)) {
        Reth{p.va, p.rkey, p.dma_length.value_or(static_cast<std::uint32_t>(p.payload.size()))}.store(at);
        at += Reth::kBytes;
    }
    if (op.has(kHasAeth)) {
        Aeth{p.syndrome, 0}.store(at);
        at += Aeth::kBytes;
    }
    if (op.has(kHasImm)) {
        ImmDt{p.imm}.store(at);
        at += ImmDt::kBytes;
    }
    if (!p.payload.empty()) std::memcpy(at, p.payload.data(), p.payload.size());
    std::memset(at + p.payload.size(), 0, pad);
    frames.seal(packet->data, transport_bytes);
    return packet;
}

std::vector<std::string> Script::transmit(std::size_t most) {
    std::vector<Packet*> out(most);
    out.resize(engine.transmit(now, out));
    std::vector<std::string> seen;
    for (Packet* packet : out) {
        seen.push_back(brief(packet->bytes()));
        release(packet);
    }
    return seen;
}

void Script::expect(const std::vector<std::string>& packets) {
    EXPECT_EQ(transmit(), packets);
    EXPECT_GT(engine.next_deadline(), now) << "the engine would spin";
}

void Script::expect_completions(const std::vector<std::string>& completions) {
    std::vector<std::string> seen;
    for (; completions_seen_ < env.completions.size(); ++completions_seen_)
        seen.push_back(brief(env.completions[completions_seen_]));
    EXPECT_EQ(seen, completions);
}

void Script::expect_deadline(Instant t) {
    EXPECT_EQ(engine.next_deadline().ps, t.ps);
}

}  // namespace vroce::nic::test
