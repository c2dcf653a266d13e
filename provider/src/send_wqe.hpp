// Writing send WQEs: what post_send and ibv_wr_* have in common.
#pragma once

#include <cerrno>
#include <cstring>

#include "provider/src/ordering.hpp"
#include "provider/src/queues.hpp"

namespace vroce::provider {

constexpr unsigned kKnownSendFlags = VROCE_SEND_FENCE | VROCE_SEND_SIGNALED | VROCE_SEND_SOLICITED | VROCE_SEND_INLINE;

/// IBTA 10.3.1: a QP takes send requests from RTS on; in ERR they complete flushed.
inline bool takes_sends(const QueuePair& qp) {
    return qp.state.load(std::memory_order_relaxed) >= IBV_QPS_RTS;
}

/// The slot at `index`, or null when as many requests as the QP was made for are outstanding.
inline vroce_send_wqe* free_send_slot(const WorkQueue& queue, std::uint32_t index) {
    if (index - queue.tail.load(std::memory_order_acquire) >= queue.limit) return nullptr;
    return reinterpret_cast<vroce_send_wqe*>(queue.slot(index));
}

inline std::byte* body_of(vroce_send_wqe& wqe) {
    return reinterpret_cast<std::byte*>(&wqe + 1);
}

inline vroce_sge to_abi(const ibv_sge& sge) {
    return {sge.addr, sge.length, sge.lkey};
}

inline void put_sges(vroce_send_wqe& wqe, const ibv_sge* list, std::uint32_t count) {
    auto* out = reinterpret_cast<vroce_sge*>(body_of(wqe));
    for (std::uint32_t i = 0; i < count; ++i) out[i] = to_abi(list[i]);
    wqe.sge_count = static_cast<std::uint16_t>(count);
    wqe.inline_bytes = 0;
}

/// Hands everything up to `head` to the NIC. Caller holds the queue's lock.
void submit_sends(QueuePair& qp, std::uint32_t head);

}  // namespace vroce::provider
