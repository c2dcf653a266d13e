// Round robin by turns of a quantum, replies and requests alternating: an acknowledgement does not wait for bulk data,
// and bulk READ data does not starve requests.
#include "nic/transport/scheduler.hpp"

#include <algorithm>

namespace vroce::nic {
namespace {

constexpr Duration kPoolRetry = microseconds(10);

}  // namespace

void Scheduler::update(Qp& qp) {
    if (qp.wants_request_turn() && !qp.request_hook.linked()) requests_.push_back(qp.request_hook);
    if (qp.wants_reply_turn() && !qp.reply_hook.linked()) replies_.push_back(qp.reply_hook);
    deadlines_.set(qp.deadline_entry, qp.deadline());
}

void Scheduler::forget(Qp& qp) {
    if (Packet* packet = qp.last_word(); packet != nullptr) last_words_.push(packet);
    qp.request_hook.unlink();
    qp.reply_hook.unlink();
    blocked_at_bytes_ = 0;  // it may have been the first in line
    deadlines_.set(qp.deadline_entry, kNever);
}

void Scheduler::expire(Instant now) {
    last_now_ = now;
    while (deadlines_.next() <= now) {
        Qp& qp = deadlines_.earliest();
        qp.on_deadline(now);
        update(qp);
    }
}

void Scheduler::transmit(Instant now, TransmitBurst& burst) {
    last_now_ = now;
    stalled_until_ = kNever;
    core_.counters.add(EngineCounter::PortChargeExpired, core_.port_window.expire(now));
    while (!last_words_.empty() && burst.room() > 0) burst.push(last_words_.pop());
    while (burst.room() > 0 && stalled_until_ == kNever) {
        const bool replied = reply_turn(now, burst);
        const bool requested = burst.room() > 0 && stalled_until_ == kNever && request_turn(now, burst);
        if (!replied && !requested) break;
    }
}

bool Scheduler::reply_turn(Instant now, TransmitBurst& burst) {
    Qp* qp = replies_.pop_front();
    if (qp == nullptr) return false;
    if (qp->reply_turn(now, burst) == Turn::NoPacket) stall(now);
    update(*qp);
    return true;
}

/// The first in line that does not fit keeps its place and holds the others: that is what makes the port window fair.
bool Scheduler::request_turn(Instant now, TransmitBurst& burst) {
    if (!requests_open()) return false;
    Qp* qp = requests_.pop_front();
    if (qp == nullptr) return false;
    blocked_at_bytes_ = 0;
    const Turn turn = qp->request_turn(now, burst);
    if (turn == Turn::NoPacket) stall(now);
    if (turn == Turn::PortBlocked) {
        blocked_at_bytes_ = core_.port_window.in_flight_bytes();
        requests_.push_front(qp->request_hook);
    }
    update(*qp);
    return turn != Turn::PortBlocked;
}

/// Blocked until something has left the window.
bool Scheduler::requests_open() const {
    return blocked_at_bytes_ == 0 || core_.port_window.in_flight_bytes() < blocked_at_bytes_;
}

void Scheduler::stall(Instant now) {
    stalled_until_ = now + kPoolRetry;
}

Instant Scheduler::next_deadline() const {
    const bool work = !last_words_.empty() || !replies_.empty() || (!requests_.empty() && requests_open());
    Instant next = deadlines_.next();
    if (!requests_.empty() && !requests_open()) next = std::min(next, core_.port_window.next_expiry());
    if (work) next = std::min(next, stalled_until_ == kNever ? last_now_ : stalled_until_);
    return next;
}

}  // namespace vroce::nic
