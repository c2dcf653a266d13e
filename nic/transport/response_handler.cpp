// Responses in the order of IBTA 9.7.5.2: is the PSN one that is out, what does it acknowledge, what does it ask for.
#include "nic/transport/response_handler.hpp"

#include "nic/transport/segmentation.hpp"

namespace vroce::nic {
namespace {

WcStatus remote_error(std::uint8_t syndrome) {
    switch (syndrome) {
        case kNakInvalidRequest:
            return WcStatus::RemInvReqErr;
        case kNakRemoteAccess:
            return WcStatus::RemAccessErr;
        case kNakRemoteOperation:
            return WcStatus::RemOpErr;
        default:
            return WcStatus::BadRespErr;  // invalid RD request, and codes nobody defined
    }
}

}  // namespace

Taken ResponseHandler::on_response(Instant now, const RoceFrame& frame) {
    const Psn psn = frame.bth.psn;
    // What is gathered begins at the oldest PSN that is out.
    if (qp_.gathered.frames != 0) {
        const bool follows = frame.op->has(kOpReadResponse) && psn == queue_.una() + qp_.gathered.frames;
        return follows && read_response_matches(frame) ? gather(frame) : Taken::LandFirst;
    }
    if (steps(queue_.una(), psn) >= steps(queue_.una(), queue_.highest())) {
        const bool old = distance(queue_.una(), psn) < 0;
        qp_.count(old ? EngineCounter::RxDropStaleResponse : EngineCounter::RxDropGhostAck);
        return Taken::Done;
    }
    if (frame.op->has(kOpReadResponse)) return on_read_response(now, frame);
    on_acknowledge(now, frame);
    return Taken::Done;
}

void ResponseHandler::on_acknowledge(Instant now, const RoceFrame& frame) {
    const Psn psn = frame.bth.psn;
    const std::uint8_t syndrome = frame.aeth().syndrome;
    switch (syndrome & kSyndromeKindMask) {
        case kSyndromeKindAck:
            qp_.count(EngineCounter::RxAcks);
            if (!advance(now, psn + 1)) implied_nak(psn);
            break;
        case kSyndromeKindRnr:
            on_rnr(now, psn, syndrome & kSyndromeValueMask);
            break;
        case kSyndromeKindNak:
            if (syndrome == kNakSequenceError)
                on_sequence_nak(now, psn);
            else
                on_fatal_nak(now, psn, syndrome);
            break;
        default:
            qp_.count(EngineCounter::RxDropStaleResponse);
            break;  // kind 10 is reserved: silently dropped
    }
}

bool ResponseHandler::advance(Instant now, Psn to) {
    const Psn before = queue_.una();
    const Psn sending = queue_.next();
    const bool reached = queue_.acknowledge(now, to);
    if (queue_.next() != sending) requester_.abandon_batch();
    if (queue_.una() != before) progressed(now);
    return reached;
}

/// An answer to something behind an unanswered READ: its data was lost (IBTA C9-...: "implied NAK"). An answer to what
/// has not been sent again since the last rewind is from before it and proves nothing.
void ResponseHandler::implied_nak(Psn seen) {
    if (qp_.fault || steps(queue_.una(), seen) >= steps(queue_.una(), queue_.next())) return;
    if (queue_.oldest()->error != WcStatus::Success || !may_go_back(seen)) return;
    qp_.count(EngineCounter::ImpliedNaks);
    retry(VendorError::SequenceNak);
}

void ResponseHandler::on_sequence_nak(Instant now, Psn psn) {
    qp_.count(EngineCounter::RxNakSequence);
    if (!advance(now, psn)) return implied_nak(psn);
    if (queue_.outstanding() && may_go_back(psn)) retry(VendorError::SequenceNak);
}

/// One loss is answered by going back once. What else arrives of the same flight says the same, and is over when
/// something newer than that flight is answered, or progress or the timeout comes.
bool ResponseHandler::may_go_back(Psn seen) const {
    return !gone_back_ || distance(flight_end_, seen) >= 0;
}

void ResponseHandler::on_rnr(Instant now, Psn psn, std::uint8_t timer_code) {
    qp_.count(EngineCounter::RxNakRnr);
    if (!advance(now, psn)) return implied_nak(psn);
    if (!queue_.outstanding()) return;  // not sent again since the last one
    if (!retry_.take_rnr_retry()) {
        qp_.count(EngineCounter::RnrRetryExceeded);
        queue_.fail_oldest(WcStatus::RnrRetryExcErr, VendorError::ReceiverNotReady);
        return;
    }
    go_back();
    retry_.wait_rnr(now + rnr_timer(timer_code));
}

void ResponseHandler::on_fatal_nak(Instant now, Psn psn, std::uint8_t syndrome) {
    qp_.count(EngineCounter::RxNakFatal);
    if (!advance(now, psn)) return implied_nak(psn);
    if (!qp_.fault) queue_.fail_oldest(remote_error(syndrome), VendorError::RemoteNak);
}

Taken ResponseHandler::on_read_response(Instant now, const RoceFrame& frame) {
    const Psn psn = frame.bth.psn;
    if (!advance(now, psn)) {
        implied_nak(psn);
        return Taken::Done;
    }
    if (qp_.fault) return Taken::Done;
    if (read_response_matches(frame)) return gather(frame);
    qp_.count(EngineCounter::BadResponses);
    queue_.fail_oldest(WcStatus::BadRespErr, VendorError::ResponseMismatch);
    return Taken::Done;
}

/// Whether it is what the oldest request waits for. FIRST and MIDDLE are alike to us, since a retry begins anywhere;
/// where a part ends is fixed.
bool ResponseHandler::read_response_matches(const RoceFrame& frame) const {
    const SendItem& item = *queue_.oldest();
    const std::uint32_t index = item.received + qp_.gathered.frames;
    const std::uint32_t part = queue_.read_part(item);
    const bool ends_part = index + 1 == item.packets || (index + 1) % part == 0;
    return item.is_read() && item.error == WcStatus::Success && index < item.packets &&
           ends_part == frame.op->has(kOpLast | kOpOnly) &&
           frame.payload.size() == payload_bytes(item.wqe.length, qp_.mtu(), index);
}

Taken ResponseHandler::gather(const RoceFrame& frame) {
    qp_.gather(frame.payload, true);
    return gathered_all() ? Taken::Complete : Taken::Gathered;
}

bool ResponseHandler::gathered_all() const {
    const SendItem& item = *queue_.oldest();
    return item.received + qp_.gathered.frames == item.packets;
}

CopyResult ResponseHandler::land() {
    if (qp_.gathered.bytes == 0) return CopyResult::Done;
    const SendItem& item = *queue_.oldest();
    const std::uint64_t offset = std::uint64_t{item.received} * qp_.mtu();
    return qp_.env.scatter_read(item.wqe, offset, qp_.core.landing.slices(), gathered_all());
}

void ResponseHandler::landed(Instant now, bool ok) {
    if (!ok) {
        qp_.count(EngineCounter::LocalFaults);
        queue_.fail_oldest(WcStatus::LocProtErr, VendorError::ScatterFault);
        return;
    }
    const Psn sending = queue_.next();
    queue_.read_landed(now, qp_.gathered.frames);
    if (queue_.next() != sending) requester_.abandon_batch();
    progressed(now);
}

void ResponseHandler::progressed(Instant now) {
    gone_back_ = false;
    retry_.progress(now, qp_.attributes, queue_.outstanding());
    requester_.wake();
}

void ResponseHandler::on_deadline(Instant now, bool receive_held) {
    switch (retry_.waiting()) {
        case RetryState::Waiting::Nothing:
            return;
        case RetryState::Waiting::RnrWait:
            retry_.disarm();
            requester_.wake();
            return;
        case RetryState::Waiting::AckTimeout:
            break;
    }
    if (receive_held) return retry_.postpone(now, qp_.attributes);
    qp_.count(EngineCounter::AckTimeouts);
    retry(VendorError::AckTimeout);
    retry_.begin_recovery();
}

void ResponseHandler::retry(VendorError reason) {
    if (!retry_.take_retry()) {
        qp_.count(EngineCounter::RetryExceeded);
        queue_.fail_oldest(WcStatus::RetryExcErr, reason);
        return;
    }
    go_back();
}

void ResponseHandler::go_back() {
    gone_back_ = true;
    flight_end_ = queue_.highest();
    requester_.abandon_batch();
    queue_.rewind();
    retry_.disarm();
    requester_.wake();
}

}  // namespace vroce::nic
