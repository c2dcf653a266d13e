#include "provider/src/death.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "provider/src/context.hpp"
#include "provider/src/ordering.hpp"

namespace vroce::provider {
namespace {

ibv_wc_opcode completion_opcode(std::uint8_t wr_opcode) {
    switch (wr_opcode) {
        case VROCE_WR_RDMA_WRITE:
        case VROCE_WR_RDMA_WRITE_WITH_IMM:
            return IBV_WC_RDMA_WRITE;
        case VROCE_WR_RDMA_READ:
            return IBV_WC_RDMA_READ;
        default:
            return IBV_WC_SEND;
    }
}

void describe_flushed(const QueuePair& qp, const std::byte* slot, bool receive, ibv_wc& wc) {
    wc = {};
    if (receive) {
        vroce_recv_wqe wqe;
        std::memcpy(&wqe, slot, sizeof wqe);
        wc.wr_id = wqe.wr_id;
        wc.opcode = IBV_WC_RECV;
    } else {
        vroce_send_wqe wqe;
        std::memcpy(&wqe, slot, sizeof wqe);
        wc.wr_id = wqe.wr_id;
        wc.opcode = completion_opcode(wqe.opcode);
    }
    wc.status = IBV_WC_WR_FLUSH_ERR;
    wc.qp_num = qp.verbs.qp.qp_num;
}

int flush_queue(QueuePair& qp, WorkQueue& queue, bool receive, int room, ibv_wc* wc) {
    const std::uint32_t first = queue.tail.load(std::memory_order_relaxed);
    const std::uint32_t count = std::min(queue.outstanding(), static_cast<std::uint32_t>(room));
    for (std::uint32_t i = 0; i < count; ++i) describe_flushed(qp, queue.slot(first + i), receive, wc[i]);
    queue.tail.store(first + count, std::memory_order_release);
    return static_cast<int>(count);
}

bool something_to_flush(CompletionQueue& cq) {
    const std::lock_guard guard(cq.lock);
    return std::any_of(cq.members.begin(), cq.members.end(), [&cq](const QueuePair* qp) {
        return (qp->send_cq == &cq && qp->send.outstanding() > 0) || (qp->recv_cq == &cq && qp->recv.outstanding() > 0);
    });
}

}  // namespace

int flush_outstanding(CompletionQueue& cq, int room, ibv_wc* wc) {
    int filled = 0;
    for (QueuePair* qp : cq.members) {
        if (qp->send_cq == &cq) filled += flush_queue(*qp, qp->send, false, room - filled, wc + filled);
        if (qp->recv_cq == &cq) filled += flush_queue(*qp, qp->recv, true, room - filled, wc + filled);
        if (filled == room) break;
    }
    return filled;
}

void send_event_if_armed(CompletionQueue& cq) {
    if (cq.channel == nullptr || take_arm(*cq.control) == VROCE_ARM_NONE) return;
    const auto record = reinterpret_cast<std::uint64_t>(&cq.verbs);
    cq.channel->pipe.add(&record);
    cq.context->watcher.poke();
}

void send_event_if_flushable(CompletionQueue& cq) {
    if (something_to_flush(cq)) send_event_if_armed(cq);
}

}  // namespace vroce::provider
