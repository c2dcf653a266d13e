// One turn of the responder: READ data a run at a time, then the tail.
#include "nic/transport/reply_sender.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "nic/transport/segmentation.hpp"

namespace vroce::nic {
namespace {

constexpr std::uint32_t kLongestRun = 64;

}  // namespace

void ReplySender::reset() {
    drop_reads();
    tail_ = Tail::None;
}

void ReplySender::acknowledge(Psn psn, std::uint32_t msn) {
    if (tail_ == Tail::Nak) return;  // it acknowledges all before it, too
    tail_ = Tail::Ack;
    tail_syndrome_ = kSyndromeAck;
    tail_psn_ = psn;
    tail_msn_ = msn;
}

void ReplySender::nak(Psn psn, std::uint8_t syndrome, std::uint32_t msn) {
    tail_ = Tail::Nak;
    tail_syndrome_ = syndrome;
    tail_psn_ = psn;
    tail_msn_ = msn;
}

void ReplySender::withdraw_nak() {
    if (tail_ == Tail::Nak) tail_ = Tail::None;
}

void ReplySender::read(const ReadJob& job) {
    tail_ = Tail::None;  // the response acknowledges all before it
    jobs_.add(job);
}

ReadJobs::Replay ReplySender::replay(const ReadJob& job) {
    const ReadJob* front = jobs_.first();
    const ReadJobs::Replay result = jobs_.replay(job);
    // Frames built for the first job are stale when another stands before it or it begins again.
    if (jobs_.first() != front || (result == ReadJobs::Replay::Restarted && front->end() == job.end())) abandon_batch();
    return result;
}

bool ReplySender::wants_turn() const {
    if (!jobs_.empty()) return !batch_.blocks(SendBatch::Owner::Responder);
    return tail_ != Tail::None;
}

Turn ReplySender::turn(Instant now, TransmitBurst& burst) {
    static_cast<void>(now);
    if (!jobs_.empty()) {
        const Turn reads = read_responses(burst, qp_.core.config.quantum_packets);
        if (reads == Turn::NoPacket || !jobs_.empty()) return reads;
    }
    if (tail_ == Tail::None) return Turn::Idle;
    if (burst.room() == 0) return Turn::More;
    Packet* packet = build_tail();
    if (packet == nullptr) return Turn::NoPacket;
    burst.push(packet);
    return Turn::Idle;
}

Turn ReplySender::read_responses(TransmitBurst& burst, std::uint32_t quantum) {
    const std::size_t stop = burst.used() + std::min<std::size_t>(quantum, burst.room());
    while (!jobs_.empty() && burst.used() < stop) {
        if (batch_.blocks(SendBatch::Owner::Responder)) return Turn::Idle;
        if (!batch_.ready_for(SendBatch::Owner::Responder)) {
            const std::size_t limit = std::min<std::size_t>(stop - burst.used(), kLongestRun);
            if (!build_run(*jobs_.first(), static_cast<std::uint32_t>(limit))) return Turn::NoPacket;
        }
        emit(burst);
    }
    return jobs_.empty() ? Turn::Idle : Turn::More;
}

bool ReplySender::build_run(const ReadJob& job, std::uint32_t limit) {
    std::array<std::span<std::uint8_t>, kLongestRun> slices;
    PacketQueue frames;
    const std::uint32_t count = std::min(limit, job.packets - job.sent);
    std::uint32_t built = 0;
    for (; built < count; ++built) {
        const Draft draft = draft_response(job, job.sent + built);
        if (draft.packet == nullptr) break;
        slices[built] = draft.payload;
        frames.push(draft.packet);
    }
    if (built == 0) return false;
    CopyResult copy = CopyResult::Done;
    if (job.length != 0) {
        const std::span<const std::span<std::uint8_t>> run(slices.data(), built);
        copy = qp_.env.read_remote(job.rkey, job.va + std::uint64_t{job.sent} * qp_.mtu(), run);
    }
    if (copy == CopyResult::Pending) qp_.count(EngineCounter::CopiesPending);
    if (!batch_.begin(SendBatch::Owner::Responder, frames, copy)) gather_failed();
    return true;
}

Draft ReplySender::draft_response(const ReadJob& job, std::uint32_t index) {
    const Opcode opcode = read_response_opcode(position(index, job.packets));
    const Draft draft = start_frame(
        qp_, {.opcode = opcode, .psn = job.psn + index, .payload_bytes = payload_bytes(job.length, qp_.mtu(), index)});
    if (draft.packet != nullptr && opcode_info(static_cast<std::uint8_t>(opcode)).has(kHasAeth))
        Aeth{kSyndromeAck, job.msn}.store(draft.extended);
    return draft;
}

void ReplySender::emit(TransmitBurst& burst) {
    while (batch_.ready_for(SendBatch::Owner::Responder) && burst.room() > 0) {
        Packet* packet = batch_.pop();
        seal_frame(qp_, packet);
        qp_.count(EngineCounter::TxReadResponses);
        burst.push(packet);
        ReadJob& job = *jobs_.first();
        if (++job.sent == job.packets) jobs_.finish_first();
    }
}

/// Memory that was there when the request came is gone (MR deregistered, process dead).
void ReplySender::gather_failed() {
    const ReadJob job = *jobs_.first();
    if (job.replay) {
        qp_.count(EngineCounter::ReadReplayFaults);
        jobs_.finish_first();
        return;
    }
    const Consequence& row = consequence(Verdict::RemoteFault);
    qp_.count(row.counter);
    jobs_.clear();
    nak(job.position(), row.syndrome, job.msn);
    if (qp_.state != QpState::Err) qp_.env.async_event(*row.event);
    qp_.fault = true;
}

void ReplySender::drop_reads() {
    jobs_.clear();
    abandon_batch();
}

void ReplySender::abandon_batch() {
    if (batch_.abandon(SendBatch::Owner::Responder) && batch_.copying()) qp_.count(EngineCounter::CopiesAbandoned);
}

Packet* ReplySender::build_tail() {
    const Draft draft = start_frame(qp_, {.opcode = Opcode::Acknowledge, .psn = tail_psn_});
    if (draft.packet == nullptr) return nullptr;
    Aeth{tail_syndrome_, tail_msn_}.store(draft.extended);
    seal_frame(qp_, draft.packet);
    qp_.count(tail_ == Tail::Ack ? EngineCounter::TxAcks : EngineCounter::TxNaks);
    tail_ = Tail::None;
    return draft.packet;
}

Packet* ReplySender::last_word() {
    return jobs_.empty() && tail_ != Tail::None ? build_tail() : nullptr;
}

}  // namespace vroce::nic
