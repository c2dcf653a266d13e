// poll_cq: takes completions out of the ring that the NIC writes. No system call while there are any.
#include <sched.h>

#include <cerrno>
#include <mutex>

#include "provider/src/context.hpp"
#include "provider/src/cq_ring.hpp"
#include "provider/src/death.hpp"
#include "provider/src/ordering.hpp"
#include "provider/src/verbs.hpp"

namespace vroce::provider {
namespace {

/// Polls in a row that found nothing before the processor is offered to others. On few cores the NIC's worker may be
/// waiting for just this core (D6).
constexpr std::uint32_t kEmptyPollsBeforeYield = 16;

void fill(const vroce_cqe& cqe, ibv_wc& wc) {
    wc.wr_id = cqe.wr_id;
    wc.status = static_cast<ibv_wc_status>(cqe.status);
    wc.opcode = static_cast<ibv_wc_opcode>(cqe.opcode);
    wc.vendor_err = cqe.vendor_err;
    wc.byte_len = cqe.byte_len;
    wc.imm_data = cqe.imm;
    wc.qp_num = cqe.qpn;
    wc.src_qp = cqe.src_qpn;
    wc.wc_flags = ((cqe.flags & VROCE_WC_WITH_IMM) != 0 ? unsigned{IBV_WC_WITH_IMM} : 0u) |
                  ((cqe.flags & VROCE_WC_GRH) != 0 ? unsigned{IBV_WC_GRH} : 0u);
    wc.pkey_index = 0;
    wc.slid = 0;
    wc.sl = cqe.sl;
    wc.dlid_path_bits = 0;
}

/// The first sign of an error: receives that were posted since need the doorbell to be flushed.
void note_error(QueuePair& qp) {
    if (!qp.error_seen.exchange(true)) ring_doorbell(qp.context->doorbell, qp.slot);
}

/// Frees the WQE and all before it in its queue. An index that is not outstanding belongs to a life before RESET.
void retire(QueuePair& qp, const vroce_cqe& cqe) {
    WorkQueue& queue = (cqe.flags & VROCE_WC_RECV) != 0 ? qp.recv : qp.send;
    const std::uint32_t tail = queue.tail.load(std::memory_order_relaxed);
    if (cqe.wqe_index - tail < queue.outstanding()) queue.tail.store(cqe.wqe_index + 1, std::memory_order_release);
    if (cqe.status != IBV_WC_SUCCESS) note_error(qp);
}

int take_completions(CompletionQueue& cq, int room, ibv_wc* wc) {
    const std::uint32_t first = cq.consumer;
    int filled = 0;
    for (; filled < room; ++cq.consumer) {
        vroce_cqe& cqe = cq.ring[cq.consumer & cq.mask];
        if (!observe_cqe(cqe, cq.phase_of(cq.consumer))) break;
        if (cqe.qp_slot == kTakenOut) continue;
        fill(cqe, wc[filled++]);
        QueuePair* qp = cq.context->qp_at(cqe.qp_slot);
        if (qp != nullptr && qp->verbs.qp.qp_num == cqe.qpn) retire(*qp, cqe);
    }
    if (cq.consumer != first) publish_consumer(*cq.control, cq.consumer);
    return filled;
}

bool yield_is_due(CompletionQueue& cq, int filled) {
    if (filled > 0) {
        cq.empty_polls = 0;
        return false;
    }
    return ++cq.empty_polls > kEmptyPollsBeforeYield;
}

}  // namespace

int poll_cq(ibv_cq* base, int room, ibv_wc* wc) {
    CompletionQueue& cq = completion_queue(base);
    if (!cq.context->usable()) return -EIO;
    if (room <= 0) return room == 0 ? 0 : -EINVAL;
    cq.lock.lock();
    const bool dead = cq.context->dead();  // before the ring is read: what the NIC wrote last comes first
    int filled = take_completions(cq, room, wc);
    if (dead && filled < room) filled += flush_outstanding(cq, room - filled, wc + filled);
    const bool yield = yield_is_due(cq, filled);
    cq.lock.unlock();
    if (yield) sched_yield();
    return filled;
}

}  // namespace vroce::provider
