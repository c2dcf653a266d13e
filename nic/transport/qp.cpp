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
    abandon_landing();
    retry_.disarm();
    context_.fault = false;
    context_.state = QpState::Reset;
    return copying();
}

void Qp::abandon_landing() {
    if (inbox_.abandon()) context_.count(EngineCounter::CopiesAbandoned);
    context_.gathered = {};
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

void Qp::receive(Instant now, Packet* packet, const RoceFrame& frame) {
    if (inbox_.copying()) return wait(packet);
    take(now, packet, frame);
    settle();
}

void Qp::take(Instant now, Packet* packet, const RoceFrame& frame) {
    if (!accept(frame)) return release(packet);
    if (context_.state == QpState::Rtr && !communication_established_) {
        communication_established_ = true;
        context_.env.async_event(AsyncEventType::CommEst);
    }
    Taken taken = handle(now, frame);
    if (taken == Taken::LandFirst) {
        land(now);
        if (inbox_.copying()) return wait(packet);
        if (!accept(frame)) return release(packet);
        taken = handle(now, frame);
    }
    context_.count(frame.op->has(kOpResponse) ? EngineCounter::RxResponses : EngineCounter::RxRequests);
    if (taken == Taken::Done) return release(packet);
    inbox_.park(packet);
    if (taken == Taken::Complete || context_.core.landing.full() || !inbox_.may_park_another()) land(now);
}

Taken Qp::handle(Instant now, const RoceFrame& frame) {
    const bool response = frame.op->has(kOpResponse);
    if (has_gathered() && response != context_.gathered.responses) return Taken::LandFirst;
    return response ? responses_.on_response(now, frame) : responder_.on_request(frame);
}

void Qp::wait(Packet* packet) {
    if (inbox_.wait(packet)) return;
    context_.count(EngineCounter::RxDropBacklogFull);
    release(packet);
}

void Qp::land(Instant now) {
    if (!has_gathered()) return;
    const CopyResult copy = context_.gathered.responses ? responses_.land() : responder_.land();
    context_.core.landing.clear();
    if (copy == CopyResult::Pending) {
        context_.count(EngineCounter::CopiesPending);
        return inbox_.copy_begins();
    }
    landed(now, copy == CopyResult::Done);
}

void Qp::landed(Instant now, bool ok) {
    if (context_.gathered.responses)
        responses_.landed(now, ok);
    else
        responder_.landed(ok);
    context_.gathered = {};
    inbox_.release_parked();
    settle();
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
    switch (inbox_.copy_ended()) {
        case Inbox::Ended::Nothing:
            return;
        case Inbox::Ended::Abandoned:
            inbox_.release_parked();
            break;
        case Inbox::Ended::Wanted:
            landed(now, ok);
            break;
    }
    drain_inbox(now);
}

void Qp::drain_inbox(Instant now) {
    while (Packet* packet = inbox_.next()) {
        RoceFrame frame;
        // It was parsed before it had to wait, so it parses now.
        static_cast<void>(parse_envelope(packet->bytes().subspan(packet->meta.l3_offset), frame));
        static_cast<void>(parse_transport(frame));
        take(now, packet, frame);
        settle();
    }
    land(now);
}

void Qp::on_deadline(Instant now) {
    responses_.on_deadline(now, inbox_.copying());
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
    abandon_landing();
    queue_.flush();
    responder_.flush();
    context_.fault = false;
}

}  // namespace vroce::nic
