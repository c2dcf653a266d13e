// One turn of the requester: at most a quantum of packets, gathered with one call for each run of one message.
#include "nic/transport/requester.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "nic/transport/frame_builder.hpp"
#include "nic/transport/segmentation.hpp"

namespace vroce::nic {
namespace {

constexpr std::uint32_t kLongestRun = 64;
constexpr std::uint32_t kShortestRun = 8;    // but for a message's end, and in a small window
constexpr std::uint64_t kRecoveryShare = 8;  // of the window, while recovering from a timeout
constexpr std::uint32_t kMostPsnsInFlight = kMaxPsnsInFlight / 2;

}  // namespace

bool Requester::wants_turn() const {
    const bool sending = qp_.state == QpState::Rts || qp_.state == QpState::Sqd;
    return awake_ && sending && retry_.waiting() != RetryState::Waiting::RnrWait &&
           !batch_.blocks(SendBatch::Owner::Requester);
}

Turn Requester::turn(Instant now, TransmitBurst& burst) {
    std::uint32_t quantum = qp_.core.config.quantum_packets;
    while (quantum > 0 && burst.room() > 0) {
        if (!wants_turn() || qp_.fault) return Turn::Idle;
        switch (step(now, burst, quantum)) {
            case Step::Sent:
                break;
            case Step::Blocked:
                awake_ = false;
                return Turn::Idle;
            case Step::PortBlocked:
                return Turn::PortBlocked;
            case Step::NoPacket:
                return Turn::NoPacket;
        }
    }
    return Turn::More;
}

Requester::Step Requester::step(Instant now, TransmitBurst& burst, std::uint32_t& quantum) {
    if (!batch_.ready_for(SendBatch::Owner::Requester)) {
        SendItem* item = queue_.current(qp_.state == QpState::Rts);
        if (item == nullptr) return Step::Blocked;
        if (item->error == WcStatus::Success && item->is_read() && qp_.attributes.max_rd_atomic == 0)
            refuse(*item, WcStatus::LocQpOpErr, VendorError::NoReadResources);
        if (item->error == WcStatus::Success && !item->is_read() && !qp_.port_carries(item->wqe.length)) {
            qp_.count(EngineCounter::TxOversize);
            refuse(*item, WcStatus::LocQpOpErr, VendorError::FrameTooLarge);
        }
        if (item->error != WcStatus::Success) {  // it waits until all before it have completed
            if (item == queue_.oldest()) queue_.fail_oldest(item->error, item->reason);
            return Step::Blocked;
        }
        if (!may_start(*item)) return Step::Blocked;
        const auto room = static_cast<std::uint32_t>(std::min<std::size_t>({quantum, burst.room(), kLongestRun}));
        const Step built = item->is_read() ? send_read_request(*item) : send_message_part(*item, room);
        if (built != Step::Sent || !batch_.ready_for(SendBatch::Owner::Requester)) return built;
    }
    emit(now, burst, quantum);
    return Step::Sent;
}

/// FENCE: after all earlier READs (IBTA 10.8.3.3); READs: at most max_rd_atomic outstanding.
bool Requester::may_start(const SendItem& item) const {
    if (item.is_read()) {
        if (queue_.reads_outstanding() >= qp_.attributes.max_rd_atomic) return false;
    }
    const bool fenced = (item.wqe.flags & kSendFence) != 0 && !item.started;
    return !fenced || queue_.reads_incomplete() == (item.is_read() ? 1U : 0U);
}

std::uint64_t Requester::window_bytes() const {
    const std::uint64_t window = qp_.core.config.qp_window_bytes;
    return retry_.recovering() ? window / kRecoveryShare : window;
}

Requester::Step Requester::admit(std::uint64_t taken, std::uint64_t cost, std::uint32_t count) {
    const std::uint64_t in_flight = queue_.in_flight_bytes() + taken;
    const bool psns_left = steps(queue_.una(), queue_.next()) + count <= kMostPsnsInFlight;
    if (in_flight != 0 && (in_flight + cost > window_bytes() || !psns_left)) return Step::Blocked;
    return qp_.core.port_window.fits(taken, cost) ? Step::Sent : Step::PortBlocked;
}

/// Counts a refusal that leaves nothing to send.
Requester::Step Requester::refused(Step verdict) {
    qp_.count(verdict == Step::Blocked ? EngineCounter::TxQpWindowFull : EngineCounter::TxPortWindowFull);
    return verdict;
}

Requester::Step Requester::send_message_part(SendItem& item, std::uint32_t limit) {
    const std::uint32_t first = queue_.index(item);
    limit = std::min(limit, item.packets - first);
    std::uint64_t taken = 0;
    std::uint32_t count = 0;
    for (; count < limit; ++count) {
        const std::uint64_t cost = window_cost(item.wqe.length, qp_.mtu(), first + count);
        const Step verdict = admit(taken, cost, count + 1);
        // A window that opens by a packet at a time is waited for: a run costs a copy, however short it is. Not where
        // that would leave much of the window empty.
        const bool is_short = count < kShortestRun && taken < window_bytes() / 4;
        const bool opens_further = queue_.in_flight_bytes() != 0 && is_short;
        if (verdict != Step::Sent && (count == 0 || opens_further)) return refused(verdict);
        if (verdict != Step::Sent) break;
        taken += cost;
    }
    return build_run(item, first, count);
}

Requester::Step Requester::build_run(SendItem& item, std::uint32_t first, std::uint32_t count) {
    std::array<std::span<std::uint8_t>, kLongestRun> slices;
    PacketQueue frames;
    Packet* last = nullptr;
    std::uint32_t built = 0;
    for (; built < count; ++built) {
        const Draft draft = draft_request(item, first + built);
        if (draft.packet == nullptr) break;
        slices[built] = draft.payload;
        frames.push(last = draft.packet);
    }
    if (built == 0) return Step::NoPacket;
    // Whatever ends a run asks for an acknowledgement, so that whatever fills a window is answered.
    request_ack(qp_, last);
    const std::span<const std::span<std::uint8_t>> run(slices.data(), built);
    const CopyResult copy =
        item.wqe.length == 0 ? CopyResult::Done : qp_.env.gather(item.wqe, std::uint64_t{first} * qp_.mtu(), run);
    if (copy == CopyResult::Pending) qp_.count(EngineCounter::CopiesPending);
    if (!batch_.begin(SendBatch::Owner::Requester, frames, copy)) gather_failed();
    return Step::Sent;
}

Draft Requester::draft_request(const SendItem& item, std::uint32_t index) {
    const bool ends = index + 1 == item.packets;
    const Opcode opcode = request_opcode(item.wqe.opcode, position(index, item.packets));
    // SE belongs to the last packet of what consumes a receive (IBTA 9.2.3).
    const bool solicited = ends && (item.wqe.flags & kSendSolicited) != 0 && item.wqe.opcode != WrOpcode::Write;
    Draft draft = start_frame(qp_, {.opcode = opcode,
                                    .psn = item.first + index,
                                    .payload_bytes = payload_bytes(item.wqe.length, qp_.mtu(), index),
                                    .ack_request = ends,
                                    .solicited = solicited});
    if (draft.packet == nullptr) return draft;
    draft.packet->reserved = 1;  // PSNs it stands for
    const OpcodeInfo& op = opcode_info(static_cast<std::uint8_t>(opcode));
    std::uint8_t* extended = draft.extended;
    if (op.has(kHasReth)) {
        Reth{item.wqe.remote_addr, item.wqe.rkey, static_cast<std::uint32_t>(item.wqe.length)}.store(extended);
        extended += Reth::kBytes;
    }
    if (op.has(kHasImm)) ImmDt{item.wqe.imm}.store(extended);
    return draft;
}

Requester::Step Requester::send_read_request(SendItem& item) {
    const std::uint32_t first = queue_.index(item);
    const std::uint32_t part = queue_.read_part(item);
    const std::uint32_t count = std::min(part - first % part, item.packets - first);
    const Step verdict = admit(0, window_cost(item.wqe.length, qp_.mtu(), first, count), count);
    if (verdict != Step::Sent) return refused(verdict);
    const Draft draft =
        start_frame(qp_, {.opcode = Opcode::ReadRequest, .psn = item.first + first, .ack_request = true});
    if (draft.packet == nullptr) return Step::NoPacket;
    const auto bytes = static_cast<std::uint32_t>(payload_bytes(item.wqe.length, qp_.mtu(), first, count));
    Reth{item.wqe.remote_addr + std::uint64_t{first} * qp_.mtu(), item.wqe.rkey, bytes}.store(draft.extended);
    draft.packet->reserved = count;
    PacketQueue frames;
    frames.push(draft.packet);
    static_cast<void>(batch_.begin(SendBatch::Owner::Requester, frames, CopyResult::Done));
    return Step::Sent;
}

void Requester::emit(Instant now, TransmitBurst& burst, std::uint32_t& quantum) {
    while (batch_.ready_for(SendBatch::Owner::Requester) && burst.room() > 0) {
        Packet* packet = batch_.pop();
        const std::uint32_t psns = packet->reserved;
        packet->reserved = 0;
        seal_frame(qp_, packet);
        qp_.count(EngineCounter::TxRequests);
        queue_.sent(now, *queue_.current(false), psns);
        retry_.packet_sent(now, qp_.attributes);
        burst.push(packet);
        if (quantum > 0) --quantum;
    }
}

void Requester::gather_failed() {
    qp_.count(EngineCounter::LocalFaults);
    if (SendItem* item = queue_.current(false); item != nullptr)
        refuse(*item, WcStatus::LocProtErr, VendorError::GatherFault);
    awake_ = true;
}

void Requester::abandon_batch() {
    if (batch_.abandon(SendBatch::Owner::Requester) && batch_.copying()) qp_.count(EngineCounter::CopiesAbandoned);
}

void Requester::refuse(SendItem& item, WcStatus status, VendorError reason) {
    item.error = status;
    item.reason = reason;
}

}  // namespace vroce::nic
