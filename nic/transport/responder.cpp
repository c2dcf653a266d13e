// A request's way: PSN, then the checks in their order, then execution; the verdict's consequences come from one table.
#include "nic/transport/responder.hpp"

#include "nic/transport/segmentation.hpp"

namespace vroce::nic {
namespace {

VendorError reason(Verdict verdict) {
    if (verdict == Verdict::ReceiveTooShort) return VendorError::ReceiveTooShort;
    return verdict == Verdict::BadReceiveWqe ? VendorError::InvalidWqe : VendorError::ScatterFault;
}

}  // namespace

void Responder::reset() {
    start(Psn{});
    receive_index_ = 0;
    has_receive_ = false;
}

void Responder::start(Psn psn) {
    expected_ = psn;
    last_executed_ = psn - 1;
    msn_ = 0;
    assembly_ = {};
    silenced_ = false;
}

Taken Responder::on_request(const RoceFrame& frame) {
    const bool gathering = qp_.gathered.frames != 0;
    const std::int32_t ahead = distance(expected_, frame.bth.psn);
    const Verdict verdict = ahead == 0 ? check(frame) : Verdict::Execute;
    // Whatever is no plain continuation speaks of a state in which all before it is done.
    if (gathering && (ahead != 0 || verdict != Verdict::Execute)) return Taken::LandFirst;
    if (ahead > 0) {
        on_gap();
        return Taken::Done;
    }
    if (ahead < 0) {
        on_duplicate(frame);
        return Taken::Done;
    }
    silenced_ = false;
    replies_.withdraw_nak();
    if (verdict == Verdict::Execute) return execute(frame);
    refuse(verdict);
    return Taken::Done;
}

/// One NAK for a gap, then silence until the missing packet comes (IBTA C9-113 ff.).
void Responder::on_gap() {
    qp_.count(EngineCounter::RxSequenceGaps);
    if (silenced_) return qp_.count(EngineCounter::RxDropOutOfSequence);
    silenced_ = true;
    replies_.nak(expected_, kNakSequenceError, msn_);
}

/// Duplicates change no state: SEND and WRITE are acknowledged again, READs are executed again from memory.
void Responder::on_duplicate(const RoceFrame& frame) {
    qp_.count(EngineCounter::RxDuplicateRequests);
    if (frame.op->has(kOpSend | kOpWrite)) return replies_.acknowledge(last_executed_, msn_);
    if (!frame.op->has(kOpReadRequest)) return qp_.count(EngineCounter::RxDropDuplicateRead);
    const Reth reth = frame.reth();
    const ReadJob job{.va = reth.va,
                      .rkey = reth.rkey,
                      .length = reth.length,
                      .packets = packet_count(reth.length, qp_.mtu()),
                      .msn = msn_,
                      .psn = frame.bth.psn};
    // It must lie in the past as a whole, and still be allowed; else it is no duplicate of anything, and is dropped.
    const bool past = check_reth_length(reth) == Verdict::Execute &&
                      static_cast<std::uint32_t>(-distance(expected_, job.psn)) >= job.packets;
    const bool allowed = past && qp_.port_carries(reth.length) &&
                         check_enabled(*frame.op, qp_.attributes.access) == Verdict::Execute &&
                         check_remote(reth, kAccessRemoteRead) == Verdict::Execute;
    if (!allowed || replies_.replay(job) == ReadJobs::Replay::Full) qp_.count(EngineCounter::RxDropDuplicateRead);
}

Verdict Responder::check(const RoceFrame& frame) {
    const OpcodeInfo& op = *frame.op;
    if (const Verdict v = check_sequence(op, assembly_.message); v != Verdict::Execute) return v;
    if (const Verdict v = check_enabled(op, qp_.attributes.access); v != Verdict::Execute) return v;
    if (op.has(kOpReadRequest)) return check_read(frame);
    if (begins_receive(op))
        if (const Verdict v = take_receive(); v != Verdict::Execute) return v;
    if (const Verdict v = check_packet_length(op, frame.payload.size(), qp_.mtu()); v != Verdict::Execute) return v;
    if (op.has(kOpSend)) return check_receive_length(assembly_.received, frame.payload.size(), receive_.length);
    return check_write(frame);
}

Verdict Responder::check_write(const RoceFrame& frame) {
    const OpcodeInfo& op = *frame.op;
    if (!op.has(kHasReth)) return check_write_length(op, assembly_.received, frame.payload.size(), assembly_.length);
    const Reth reth = frame.reth();
    if (const Verdict v = check_reth_length(reth); v != Verdict::Execute) return v;
    if (const Verdict v = check_write_length(op, 0, frame.payload.size(), reth.length); v != Verdict::Execute) return v;
    return check_remote(reth, kAccessRemoteWrite);
}

Verdict Responder::check_read(const RoceFrame& frame) {
    if (replies_.reads_outstanding() >= qp_.attributes.max_dest_rd_atomic) return Verdict::TooManyReads;
    const Reth reth = frame.reth();
    if (const Verdict v = check_reth_length(reth); v != Verdict::Execute) return v;
    // A response may use half of the PSN circle at most (IBTA 9.7.1); beyond, it could not be told from a duplicate.
    if (packet_count(reth.length, qp_.mtu()) >= kMaxPsnsInFlight) return Verdict::BadLength;
    if (!qp_.port_carries(reth.length)) return Verdict::Unanswerable;
    return check_remote(reth, kAccessRemoteRead);
}

/// Key and address of a request without bytes are not looked at (IBTA C9-88, C9-89).
Verdict Responder::check_remote(const Reth& reth, std::uint32_t access) {
    if (reth.length == 0) return Verdict::Execute;
    return verdict_of(qp_.env.check_remote(reth.rkey, reth.va, reth.length, access));
}

Verdict Responder::take_receive() {
    if (has_receive_) return Verdict::Execute;
    bool valid = true;
    if (!qp_.env.fetch_recv(receive_index_, receive_, valid)) return Verdict::NoReceive;
    ++receive_index_;
    has_receive_ = true;
    return valid ? Verdict::Execute : Verdict::BadReceiveWqe;
}

void Responder::refuse(Verdict verdict) {
    const Consequence& row = consequence(verdict);
    qp_.count(row.counter);
    std::uint8_t syndrome = row.syndrome;
    if (verdict == Verdict::NoReceive) syndrome |= qp_.attributes.min_rnr_timer & kSyndromeValueMask;
    replies_.nak(expected_, syndrome, msn_);
    silenced_ = true;
    if (row.completion && has_receive_)
        complete_receive({.vendor_err = static_cast<std::uint32_t>(reason(verdict)),
                          .status = *row.completion,
                          .opcode = WcOpcode::Recv});
    if (row.event) qp_.env.async_event(*row.event);
    if (row.fatal) qp_.fault = true;
}

Taken Responder::execute(const RoceFrame& frame) {
    if (frame.op->has(kOpReadRequest)) {
        accept_read(frame);
        return Taken::Done;
    }
    if (frame.op->has(kHasReth)) {
        const Reth reth = frame.reth();
        assembly_ = {Message::Write, 0, reth.va, reth.rkey, reth.length};
    } else if (frame.op->has(kOpFirst | kOpOnly)) {
        assembly_ = {.message = Message::Send};
    }
    return gather(frame);
}

Taken Responder::gather(const RoceFrame& frame) {
    qp_.gather(frame.payload, false);
    assembly_.received += frame.payload.size();
    expected_ += 1;
    const bool imm = frame.op->has(kHasImm);
    closing_ = {.ends_message = frame.op->has(kOpLast | kOpOnly),
                .ack_request = frame.bth.ack_request,
                .with_imm = imm,
                .solicited = frame.bth.solicited,
                .imm = imm ? frame.imm().raw : 0};
    return closing_.ends_message || closing_.ack_request ? Taken::Complete : Taken::Gathered;
}

CopyResult Responder::land() {
    const auto slices = qp_.core.landing.slices();
    const std::uint64_t offset = assembly_.received - qp_.gathered.bytes;
    if (qp_.gathered.bytes == 0) return CopyResult::Done;
    if (assembly_.message == Message::Send)
        return qp_.env.scatter_recv(receive_, offset, slices, closing_.ends_message);
    return qp_.env.write_remote(assembly_.rkey, assembly_.va + offset, slices, closing_.ends_message);
}

/// A failure is the first frame's: which one it was, the requester does not need to know, since all belong to one WQE.
void Responder::landed(bool ok) {
    if (!ok) {
        expected_ = expected_ - qp_.gathered.frames;
        assembly_.received -= qp_.gathered.bytes;
        return refuse(assembly_.message == Message::Send ? Verdict::ReceiveFault : Verdict::RemoteFault);
    }
    last_executed_ = expected_ - 1;
    if (closing_.ends_message) finish_message();
    if (qp_.fault) return;  // the completion queue is full: the message is not acknowledged
    if (closing_.ends_message || closing_.ack_request) replies_.acknowledge(last_executed_, msn_);
}

void Responder::finish_message() {
    msn_ = (msn_ + 1) & kMask24;
    const bool write = assembly_.message == Message::Write;
    if (!write || closing_.with_imm)
        complete_receive({.byte_len = static_cast<std::uint32_t>(assembly_.received),
                          .imm = closing_.imm,
                          .opcode = write ? WcOpcode::RecvRdmaWithImm : WcOpcode::Recv,
                          .with_imm = closing_.with_imm,
                          .solicited = closing_.solicited});
    assembly_ = {};
}

void Responder::complete_receive(const Completion& completion) {
    Completion full = completion;
    full.wr_id = receive_.wr_id;
    full.wqe_index = receive_.index;
    full.receive = true;
    has_receive_ = false;
    qp_.complete(full);
}

void Responder::accept_read(const RoceFrame& frame) {
    const Reth reth = frame.reth();
    const std::uint32_t packets = packet_count(reth.length, qp_.mtu());
    msn_ = (msn_ + 1) & kMask24;
    replies_.read(
        {.va = reth.va, .rkey = reth.rkey, .length = reth.length, .packets = packets, .msn = msn_, .psn = expected_});
    expected_ += packets;
}

void Responder::flush() {
    const Completion flushed{.vendor_err = static_cast<std::uint32_t>(VendorError::Flushed),
                             .status = WcStatus::WrFlushErr,
                             .opcode = WcOpcode::Recv};
    if (has_receive_) complete_receive(flushed);
    for (std::uint32_t n = 0; qp_.limits.recv_slots == 0 || n < qp_.limits.recv_slots; ++n) {
        bool valid = true;
        if (!qp_.env.fetch_recv(receive_index_, receive_, valid)) return;
        ++receive_index_;
        has_receive_ = true;
        complete_receive(flushed);
    }
}

}  // namespace vroce::nic
