// post_send and post_recv: a chain of work requests into the ring, one doorbell for all of it.
#include <cerrno>
#include <mutex>

#include "provider/src/context.hpp"
#include "provider/src/death.hpp"
#include "provider/src/send_wqe.hpp"
#include "provider/src/verbs.hpp"

namespace vroce::provider {
namespace {

/// The opcode as the application's memory has it: it need not be a value of the enumeration.
std::uint32_t opcode_of(const ibv_send_wr& wr) {
    std::uint32_t opcode = 0;
    std::memcpy(&opcode, &wr.opcode, sizeof opcode);
    return opcode;
}

/// 0; EOPNOTSUPP for what other queue pairs or NICs can do; EINVAL for what nobody can.
int check_opcode(const ibv_send_wr& wr) {
    switch (opcode_of(wr)) {
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
        case IBV_WR_SEND:
        case IBV_WR_SEND_WITH_IMM:
            return 0;
        case IBV_WR_RDMA_READ:
            return (wr.send_flags & IBV_SEND_INLINE) != 0 ? EINVAL : 0;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
        case IBV_WR_LOCAL_INV:
        case IBV_WR_BIND_MW:
        case IBV_WR_SEND_WITH_INV:
        case IBV_WR_TSO:
        case IBV_WR_DRIVER1:
        case IBV_WR_ATOMIC_WRITE:
            return EOPNOTSUPP;
        default:
            return EINVAL;
    }
}

int put_inline(const WorkQueue& queue, const ibv_send_wr& wr, vroce_send_wqe& wqe) {
    std::uint64_t total = 0;
    for (int i = 0; i < wr.num_sge; ++i) total += wr.sg_list[i].length;
    if (total > queue.max_inline) return EINVAL;
    std::byte* out = body_of(wqe);
    for (int i = 0; i < wr.num_sge; ++i) {
        if (wr.sg_list[i].length == 0) continue;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): verbs gives addresses as numbers
        std::memcpy(out, reinterpret_cast<const void*>(wr.sg_list[i].addr), wr.sg_list[i].length);
        out += wr.sg_list[i].length;
    }
    wqe.sge_count = 0;
    wqe.inline_bytes = static_cast<std::uint32_t>(total);
    return 0;
}

void put_header(const ibv_send_wr& wr, vroce_send_wqe& wqe) {
    wqe.wr_id = wr.wr_id;
    wqe.remote_addr = wr.wr.rdma.remote_addr;
    wqe.compare_add = 0;
    wqe.swap = 0;
    wqe.rkey = wr.wr.rdma.rkey;
    wqe.imm = wr.imm_data;
    wqe.remote_qpn = 0;
    wqe.remote_qkey = 0;
    wqe.opcode = static_cast<std::uint8_t>(opcode_of(wr));
    wqe.flags = static_cast<std::uint8_t>(wr.send_flags & kKnownSendFlags);
    wqe.reserved = 0;
}

int put_send(const WorkQueue& queue, std::uint32_t index, const ibv_send_wr& wr) {
    vroce_send_wqe* wqe = free_send_slot(queue, index);
    if (wqe == nullptr) return ENOMEM;
    if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > queue.max_sge) return EINVAL;
    if (const int error = check_opcode(wr)) return error;
    put_header(wr, *wqe);
    if ((wr.send_flags & IBV_SEND_INLINE) != 0) return put_inline(queue, wr, *wqe);
    put_sges(*wqe, wr.sg_list, static_cast<std::uint32_t>(wr.num_sge));
    return 0;
}

int put_recv(const WorkQueue& queue, std::uint32_t index, const ibv_recv_wr& wr) {
    if (index - queue.tail.load(std::memory_order_acquire) >= queue.limit) return ENOMEM;
    if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > queue.max_sge) return EINVAL;
    auto* wqe = reinterpret_cast<vroce_recv_wqe*>(queue.slot(index));
    wqe->wr_id = wr.wr_id;
    wqe->sge_count = static_cast<std::uint32_t>(wr.num_sge);
    wqe->reserved = 0;
    auto* out = reinterpret_cast<vroce_sge*>(wqe + 1);
    for (int i = 0; i < wr.num_sge; ++i) out[i] = to_abi(wr.sg_list[i]);
    return 0;
}

/// Hands receives up to `head` to the NIC. It looks at the ring when a message comes, so the doorbell is only for a QP
/// that may be in error without our knowing: then nothing would flush them.
void submit_recvs(QueuePair& qp, std::uint32_t head) {
    WorkQueue& queue = qp.recv;
    const bool was_empty = queue.outstanding() == 0;
    publish_wqe(*queue.producer, head);
    queue.head.store(head, std::memory_order_seq_cst);
    if (qp.context->dead()) {
        send_event_if_armed(*qp.recv_cq);
    } else if (was_empty || qp.error_seen.load(std::memory_order_relaxed) ||
               qp.state.load(std::memory_order_relaxed) == IBV_QPS_ERR) {
        ring_doorbell(qp.context->doorbell, qp.slot);
    }
}

}  // namespace

void submit_sends(QueuePair& qp, std::uint32_t head) {
    publish_wqe(*qp.send.producer, head);
    qp.send.head.store(head, std::memory_order_seq_cst);
    if (qp.context->dead()) {
        send_event_if_armed(*qp.send_cq);
    } else {
        ring_doorbell(qp.context->doorbell, qp.slot);
    }
}

int post_send(ibv_qp* base, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
    QueuePair& qp = queue_pair(base);
    *bad_wr = wr;
    if (!qp.context->usable()) return EIO;
    if (!takes_sends(qp)) return EINVAL;
    const std::lock_guard guard(qp.send.lock);
    const std::uint32_t first = qp.send.head.load(std::memory_order_relaxed);
    std::uint32_t head = first;
    int error = 0;
    for (; wr != nullptr && error == 0; wr = wr->next) {
        error = put_send(qp.send, head, *wr);
        if (error == 0) {
            ++head;
        } else {
            *bad_wr = wr;
        }
    }
    if (head != first) submit_sends(qp, head);
    return error;
}

int post_recv(ibv_qp* base, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
    QueuePair& qp = queue_pair(base);
    *bad_wr = wr;
    if (!qp.context->usable()) return EIO;
    if (qp.state.load(std::memory_order_relaxed) == IBV_QPS_RESET) return EINVAL;
    const std::lock_guard guard(qp.recv.lock);
    const std::uint32_t first = qp.recv.head.load(std::memory_order_relaxed);
    std::uint32_t head = first;
    int error = 0;
    for (; wr != nullptr && error == 0; wr = wr->next) {
        error = put_recv(qp.recv, head, *wr);
        if (error == 0) {
            ++head;
        } else {
            *bad_wr = wr;
        }
    }
    if (head != first) submit_recvs(qp, head);
    return error;
}

}  // namespace vroce::provider
