// The queue pair's state machine and its routing.
#include "nic/transport/qp.hpp"

namespace vroce::nic {

Qp::Qp(EngineCore& core, QpEnv& env, std::uint32_t qpn, const QpLimits& limits)
    : context_(core, env, qpn, limits),
      inbox_(core.waiting_room),
      queue_(context_),
      requester_(context_, batch_, queue_, retry_),
      responses_(context_, requester_, queue_, retry_),
      replies_(context_, batch_),
      responder_(context_, replies_) {
    request_hook.owner = reply_hook.owner = this;
}

Qp::~Qp() {
    request_hook.unlink();
    reply_hook.unlink();
    batch_.release_all();
    inbox_.release_all();
}

void Qp::modify(Instant now, QpState to, const QpAttributes& attributes) {
    static_cast<void>(now);
    const QpState from = context_.state;
    if (to != QpState::Reset && to != QpState::Err) context_.set_attributes(attributes);
    switch (to) {
        case QpState::Reset:
            reset();
            break;
        case QpState::Init:
            break;
        case QpState::Rtr:
            if (from != QpState::Rtr) responder_.start(Psn(attributes.rq_psn));
            break;
        case QpState::Rts:
            if (from == QpState::Rtr) {
                queue_.start(Psn(attributes.sq_psn));
                retry_.reset(attributes);
            }
            break;
        case QpState::Sqd:
            drain_reported_ = false;
            break;
        case QpState::Sqe:
            break;
        case QpState::Err:
            if (from == QpState::Err) break;
            replies_.drop_reads();
            context_.state = to;
            enter_error();
            return;
    }
    context_.state = to;
    requester_.wake();
    settle();
}

QpStatus Qp::status() const {
    return {.state = context_.state,
            .sq_draining = context_.state == QpState::Sqd && !queue_.empty(),
            .sq_psn = queue_.next().value(),
            .rq_psn = responder_.expected().value()};
}

void Qp::reset() {
    static_cast<void>(retire());
    queue_.reset();
    responder_.reset();
    communication_established_ = drain_reported_ = false;
}

bool Qp::retire() {
    replies_.reset();
    requester_.abandon_batch();
    if (inbox_.abandon()) context_.count(EngineCounter::CopiesAbandoned);
    retry_.disarm();
    context_.fault = false;
    context_.state = QpState::Reset;
    return copying();
}

bool Qp::accept(const RoceFrame& frame) {
    const bool response = frame.op->has(kOpResponse);
    switch (context_.state) {
        case QpState::Rts:
        case QpState::Sqd:
        case QpState::Sqe:
            break;
        case QpState::Rtr:
            if (!response) break;
            [[fallthrough]];
        case QpState::Reset:
        case QpState::Init:
            context_.count(EngineCounter::RxDropQpState);
            return false;
        case QpState::Err:
            context_.count(EngineCounter::RxDropWhileInError);
            return false;
    }
    const std::uint16_t ours = context_.attributes.pkey;
    const std::uint16_t theirs = frame.bth.pkey;
    // IBTA 10.9.3: same partition, and not two limited members.
    if (((ours ^ theirs) & 0x7FFF) != 0 || ((ours | theirs) & 0x8000) == 0) {
        context_.count(EngineCounter::RxDropPkey);
        return false;
    }
    const AddressVector& av = context_.attributes.av;
    if (frame.source() != av.destination || frame.destination() != av.source) {
        context_.count(EngineCounter::RxDropGid);
        return false;
    }
    return true;
}

bool Qp::receive(Instant now, Packet* packet, const RoceFrame& frame) {
    if (!accept(frame)) return false;
    if (context_.state == QpState::Rtr && !communication_established_) {
        communication_established_ = true;
        context_.env.async_event(AsyncEventType::CommEst);
    }
    if (inbox_.holds()) {
        if (inbox_.wait(packet)) return true;
        context_.count(EngineCounter::RxDropBacklogFull);
        return false;
    }
    const bool finished = handle(now, frame);
    if (!finished) inbox_.park(packet);
    settle();
    return !finished;
}

bool Qp::handle(Instant now, const RoceFrame& frame) {
    bool pending;
    if (frame.op->has(kOpResponse)) {
        context_.count(EngineCounter::RxResponses);
        pending = responses_.on_response(now, frame) == ResponseHandler::Handled::CopyPending;
    } else {
        context_.count(EngineCounter::RxRequests);
        pending = responder_.on_request(frame) == Responder::Handled::CopyPending;
    }
    if (pending) context_.count(EngineCounter::CopiesPending);
    return !pending;
}

void Qp::doorbell(Instant now) {
    static_cast<void>(now);
    if (context_.state == QpState::Err) {
        queue_.flush();
        responder_.flush();
        context_.fault = false;
        return;
    }
    requester_.wake();
}

void Qp::copy_done(Instant now, CopyDirection direction, bool ok) {
    if (direction == CopyDirection::Send)
        send_copied(ok);
    else
        receive_copied(now, ok);
    settle();
}

void Qp::send_copied(bool ok) {
    if (!batch_.copying()) return;
    const SendBatch::Owner owner = batch_.owner();
    if (batch_.end(ok) == SendBatch::Ended::Failed) {
        if (owner == SendBatch::Owner::Requester)
            requester_.gather_failed();
        else
            replies_.gather_failed();
    }
    requester_.wake();
}

void Qp::receive_copied(Instant now, bool ok) {
    const Inbox::Ended ended = inbox_.copy_ended();
    if (ended.packet == nullptr) return;
    if (!ended.abandoned) {
        RoceFrame frame;
        // It was parsed before it was parked, so it parses now.
        static_cast<void>(parse_envelope(ended.packet->bytes().subspan(ended.packet->meta.l3_offset), frame));
        static_cast<void>(parse_transport(frame));
        if (frame.op->has(kOpResponse))
            responses_.read_copied(now, ok);
        else
            responder_.copied(frame, ok);
    }
    release(ended.packet);
    settle();
    drain_inbox(now);
}

void Qp::drain_inbox(Instant now) {
    while (Packet* packet = inbox_.next()) {
        RoceFrame frame;
        static_cast<void>(parse_envelope(packet->bytes().subspan(packet->meta.l3_offset), frame));
        static_cast<void>(parse_transport(frame));
        if (accept(frame) && !handle(now, frame))
            inbox_.park(packet);
        else
            release(packet);
        settle();
    }
}

void Qp::on_deadline(Instant now) {
    responses_.on_deadline(now, inbox_.holds());
    settle();
}

Turn Qp::request_turn(Instant now, TransmitBurst& burst) {
    const Turn turn = requester_.turn(now, burst);
    settle();
    return turn;
}

Turn Qp::reply_turn(Instant now, TransmitBurst& burst) {
    const Turn turn = replies_.turn(now, burst);
    settle();
    return turn;
}

void Qp::settle() {
    if (context_.fault) {
        context_.fault = false;
        if (context_.state != QpState::Err && context_.state != QpState::Reset) {
            set_state(QpState::Err);
            if (!replies_.ends_with_nak()) replies_.drop_reads();
            enter_error();
        }
    }
    if (context_.state == QpState::Sqd && !drain_reported_ && queue_.empty()) {
        drain_reported_ = true;
        context_.env.async_event(AsyncEventType::SqDrained);
        context_.env.state_changed(QpState::Sqd);
    }
}

void Qp::set_state(QpState state) {
    context_.state = state;
    context_.env.state_changed(state);
}

/// Everything that was posted completes as flushed (IBTA 10.3.1.5). What the responder still has to say, a NAK and the
/// responses before it, is said.
void Qp::enter_error() {
    context_.count(EngineCounter::QpErrors);
    retry_.disarm();
    requester_.abandon_batch();
    if (inbox_.abandon()) context_.count(EngineCounter::CopiesAbandoned);
    queue_.flush();
    responder_.flush();
    context_.fault = false;
}

}  // namespace vroce::nic
