// Whose turn it is: two round robins (replies, requests), the port window between them, and the heap of deadlines.
// It touches queue pairs that have something to do, and no others.
#pragma once

#include <cstdint>

#include "nic/transport/deadline_heap.hpp"
#include "nic/transport/hook_list.hpp"
#include "nic/transport/packet_queue.hpp"
#include "nic/transport/qp.hpp"
#include "nic/transport/transmit_burst.hpp"

namespace vroce::nic {

class Scheduler {
public:
    explicit Scheduler(EngineCore& core) : core_(core) {}
    ~Scheduler() { last_words_.release_all(); }
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// After every event of a queue pair: gives it its places.
    void update(Qp& qp);
    /// It ends or starts over. What it acknowledged by its completions is still acknowledged on the wire.
    void forget(Qp& qp);
    void expire(Instant now);
    void transmit(Instant now, TransmitBurst& burst);
    [[nodiscard]] Instant next_deadline() const;

private:
    /// False when there was nobody, or the packet pool is empty.
    bool reply_turn(Instant now, TransmitBurst& burst);
    bool request_turn(Instant now, TransmitBurst& burst);
    [[nodiscard]] bool requests_open() const;
    void stall(Instant now);

    EngineCore& core_;
    HookList<Qp> requests_;
    HookList<Qp> replies_;
    DeadlineHeap<Qp> deadlines_;
    PacketQueue last_words_;
    std::uint64_t blocked_at_bytes_ =
        0;                            ///< port window's filling that the first in line did not fit on; 0: not blocked
    Instant stalled_until_ = kNever;  ///< the pool was empty; kNever: not stalled
    Instant last_now_;
};

}  // namespace vroce::nic
