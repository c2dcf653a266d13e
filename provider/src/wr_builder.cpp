#include "provider/src/wr_builder.hpp"

#include <cerrno>
#include <cstring>

#include "provider/src/context.hpp"
#include "provider/src/send_wqe.hpp"

namespace vroce::provider {
namespace {

constexpr std::uint64_t kBuildable = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                     IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;

QueuePair& of(ibv_qp_ex* qp) {
    return queue_pair(&qp->qp_base);
}

/// The first error of a chain is the one that ibv_wr_complete reports; what follows is ignored.
void fail(QueuePair& qp, int error) {
    if (qp.builder.error == 0) qp.builder.error = error;
    qp.builder.current = nullptr;
}

void start(ibv_qp_ex* base) {
    QueuePair& qp = of(base);
    qp.builder = {};
    if (!qp.context->usable()) {
        qp.builder.error = EIO;  // and no lock: a parent's thread may have held it at the fork
        return;
    }
    qp.send.lock.lock();
    qp.builder.head = qp.send.head.load(std::memory_order_relaxed);
    if (!takes_sends(qp)) qp.builder.error = EINVAL;
}

int complete(ibv_qp_ex* base) {
    QueuePair& qp = of(base);
    if (!qp.context->usable()) return EIO;
    const int error = qp.builder.error;
    if (error == 0 && qp.builder.head != qp.send.head.load(std::memory_order_relaxed)) {
        submit_sends(qp, qp.builder.head);
    }
    qp.send.lock.unlock();
    return error;
}

void abort_chain(ibv_qp_ex* base) {
    if (of(base).context->usable()) of(base).send.lock.unlock();
}

void begin(ibv_qp_ex* base, vroce_opcode opcode, std::uint32_t rkey, std::uint64_t remote_addr, std::uint32_t imm) {
    QueuePair& qp = of(base);
    if (qp.builder.error != 0) return;
    vroce_send_wqe* wqe = free_send_slot(qp.send, qp.builder.head);
    if (wqe == nullptr) return fail(qp, ENOMEM);
    *wqe = {};
    wqe->wr_id = base->wr_id;
    wqe->remote_addr = remote_addr;
    wqe->rkey = rkey;
    wqe->imm = imm;
    wqe->opcode = static_cast<std::uint8_t>(opcode);
    wqe->flags = static_cast<std::uint8_t>(base->wr_flags & kKnownSendFlags & ~unsigned{VROCE_SEND_INLINE});
    qp.builder.current = wqe;
    ++qp.builder.head;
}

void wr_send(ibv_qp_ex* qp) {
    begin(qp, VROCE_WR_SEND, 0, 0, 0);
}
void wr_send_imm(ibv_qp_ex* qp, __be32 imm) {
    begin(qp, VROCE_WR_SEND_WITH_IMM, 0, 0, imm);
}
void wr_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t addr) {
    begin(qp, VROCE_WR_RDMA_WRITE, rkey, addr, 0);
}
void wr_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t addr, __be32 imm) {
    begin(qp, VROCE_WR_RDMA_WRITE_WITH_IMM, rkey, addr, imm);
}
void wr_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t addr) {
    begin(qp, VROCE_WR_RDMA_READ, rkey, addr, 0);
}

void set_sge_list(ibv_qp_ex* base, std::size_t count, const ibv_sge* list) {
    QueuePair& qp = of(base);
    if (qp.builder.current == nullptr) return;
    if (count > qp.send.max_sge) return fail(qp, EINVAL);
    put_sges(*qp.builder.current, list, static_cast<std::uint32_t>(count));
}

void set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t addr, std::uint32_t length) {
    const ibv_sge sge{addr, length, lkey};
    set_sge_list(qp, 1, &sge);
}

void set_inline_list(ibv_qp_ex* base, std::size_t count, const ibv_data_buf* buffers) {
    QueuePair& qp = of(base);
    vroce_send_wqe* wqe = qp.builder.current;
    if (wqe == nullptr) return;
    if (wqe->opcode == VROCE_WR_RDMA_READ) return fail(qp, EINVAL);
    std::byte* out = body_of(*wqe);
    std::size_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (buffers[i].length > qp.send.max_inline - total) return fail(qp, EINVAL);
        if (buffers[i].length > 0) std::memcpy(out + total, buffers[i].addr, buffers[i].length);
        total += buffers[i].length;
    }
    wqe->flags = static_cast<std::uint8_t>(wqe->flags | VROCE_SEND_INLINE);
    wqe->sge_count = 0;
    wqe->inline_bytes = static_cast<std::uint32_t>(total);
}

void set_inline(ibv_qp_ex* qp, void* addr, std::size_t length) {
    const ibv_data_buf buffer{addr, length};
    set_inline_list(qp, 1, &buffer);
}

}  // namespace

bool can_build(std::uint64_t send_ops) {
    return (send_ops & ~kBuildable) == 0;
}

void offer_builder(QueuePair& qp, std::uint64_t send_ops) {
    ibv_qp_ex& table = qp.verbs.qp_ex;
    const auto asked = [send_ops](std::uint64_t bit) { return (send_ops & bit) != 0; };
    qp.verbs.comp_mask |= kVerbsQpEx;
    table.wr_start = start;
    table.wr_complete = complete;
    table.wr_abort = abort_chain;
    if (asked(IBV_QP_EX_WITH_SEND)) table.wr_send = wr_send;
    if (asked(IBV_QP_EX_WITH_SEND_WITH_IMM)) table.wr_send_imm = wr_send_imm;
    if (asked(IBV_QP_EX_WITH_RDMA_WRITE)) table.wr_rdma_write = wr_write;
    if (asked(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)) table.wr_rdma_write_imm = wr_write_imm;
    if (asked(IBV_QP_EX_WITH_RDMA_READ)) table.wr_rdma_read = wr_read;
    table.wr_set_sge = set_sge;
    table.wr_set_sge_list = set_sge_list;
    table.wr_set_inline_data = set_inline;
    table.wr_set_inline_data_list = set_inline_list;
}

}  // namespace vroce::provider
