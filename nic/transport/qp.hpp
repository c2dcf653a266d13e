// One RC queue pair: it owns the state (IBTA 10.3.1) and routes events to its parts, which do the work.
#pragma once

#include <cstdint>

#include "nic/transport/deadline_heap.hpp"
#include "nic/transport/hook_list.hpp"
#include "nic/transport/inbox.hpp"
#include "nic/transport/qp_context.hpp"
#include "nic/transport/reply_sender.hpp"
#include "nic/transport/requester.hpp"
#include "nic/transport/responder.hpp"
#include "nic/transport/response_handler.hpp"

namespace vroce::nic {

class Qp {
public:
    Qp(EngineCore& core, QpEnv& env, std::uint32_t qpn, const QpLimits& limits);
    ~Qp();
    Qp(const Qp&) = delete;
    Qp& operator=(const Qp&) = delete;

    void modify(Instant now, QpState to, const QpAttributes& attributes);
    [[nodiscard]] QpStatus status() const;

    /// A frame for this queue pair with a good ICRC, to release or to keep. After the last one of a burst, and before
    /// another queue pair's turn, land() is due.
    void receive(Instant now, Packet* packet, const RoceFrame& frame);
    [[nodiscard]] bool has_gathered() const { return context_.gathered.frames != 0 && !inbox_.copying(); }
    void land(Instant now);
    void doorbell(Instant now);
    void copy_done(Instant now, CopyDirection direction, bool ok);
    void on_deadline(Instant now);
    Turn request_turn(Instant now, TransmitBurst& burst);
    Turn reply_turn(Instant now, TransmitBurst& burst);

    [[nodiscard]] bool wants_request_turn() const { return requester_.wants_turn(); }
    [[nodiscard]] bool wants_reply_turn() const { return replies_.wants_turn(); }
    [[nodiscard]] Instant deadline() const { return retry_.deadline(); }
    /// See ReplySender::last_word.
    [[nodiscard]] Packet* last_word() { return replies_.last_word(); }
    /// Before destruction: forgets all work. True while a copy still uses packets of ours; then the object must live
    /// until copy_done() has brought it to false.
    [[nodiscard]] bool retire();
    [[nodiscard]] bool copying() const { return batch_.copying() || inbox_.copying(); }
    [[nodiscard]] std::uint32_t number() const { return context_.qpn; }

    // The engine's bookkeeping.
    Hook request_hook;
    Hook reply_hook;
    DeadlineHeap<Qp>::Entry deadline_entry{*this};

private:
    /// Acts on what the parts found during an event: error state, drained send queue.
    void settle();
    void set_state(QpState state);
    void enter_error();
    void reset();
    bool accept(const RoceFrame& frame);
    void take(Instant now, Packet* packet, const RoceFrame& frame);
    Taken handle(Instant now, const RoceFrame& frame);
    void wait(Packet* packet);
    void landed(Instant now, bool ok);
    void abandon_landing();
    void drain_inbox(Instant now);
    void receive_copied(Instant now, bool ok);
    void send_copied(bool ok);

    QpContext context_;
    SendBatch batch_;
    Inbox inbox_;
    SendQueue queue_;
    RetryState retry_;
    Requester requester_;
    ResponseHandler responses_;
    ReplySender replies_;
    Responder responder_;
    bool communication_established_ = false;
    bool drain_reported_ = false;
};

}  // namespace vroce::nic
