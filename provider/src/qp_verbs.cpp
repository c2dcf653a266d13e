// Queue pairs: making, changing and asking. The state machine's rules are the NIC's; here is what the rings need.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>

#include "provider/src/acknowledge.hpp"
#include "provider/src/context.hpp"
#include "provider/src/cq_ring.hpp"
#include "provider/src/qp_attr.hpp"
#include "provider/src/verbs.hpp"
#include "provider/src/wr_builder.hpp"

namespace vroce::provider {
namespace {

/// Locks both CQs of a QP, always in the same order.
class CqPairLock {
public:
    explicit CqPairLock(const QueuePair& qp)
        : first_(std::min(qp.send_cq, qp.recv_cq)->lock), second_(std::max(qp.send_cq, qp.recv_cq)->lock) {
        first_.lock();
        if (&first_ != &second_) second_.lock();
    }
    ~CqPairLock() {
        if (&first_ != &second_) second_.unlock();
        first_.unlock();
    }
    CqPairLock(const CqPairLock&) = delete;
    CqPairLock& operator=(const CqPairLock&) = delete;

private:
    SpinLock& first_;
    SpinLock& second_;
};

std::uint64_t ring_bytes(const vroce_ring_place& place) {
    return std::uint64_t{place.slots} * place.stride;
}

void place_queue(WorkQueue& queue, const vroce_ring_place& place, std::byte* ring, std::uint32_t& producer,
                 std::uint32_t limit, std::uint32_t max_sge) {
    queue.ring = ring;
    queue.producer = &producer;
    queue.mask = place.slots - 1;
    queue.stride = place.stride;
    queue.limit = std::min(limit, place.slots);
    queue.max_sge = max_sge;
}

/// A queue that was made for no requests may have no ring.
bool fits(const vroce_ring_place& place, std::size_t wqe_bytes, std::uint32_t max_sge, std::uint32_t max_inline) {
    const std::uint64_t body = std::max<std::uint64_t>(std::uint64_t{max_sge} * sizeof(vroce_sge), max_inline);
    return place.slots == 0 || (std::has_single_bit(place.slots) && place.stride >= wqe_bytes + body);
}

int place_rings(Context& context, QueuePair& qp, const vroce_create_qp_reply& reply, int new_fd) {
    if (!fits(reply.sq, sizeof(vroce_send_wqe), reply.max_send_sge, reply.max_inline) ||
        !fits(reply.rq, sizeof(vroce_recv_wqe), reply.max_recv_sge, 0) || reply.slot >= VROCE_MAX_QP_SLOTS) {
        if (new_fd >= 0) close(new_fd);
        return EPROTO;
    }
    std::byte* sq = context.arena_at(reply.sq, reply.sq.offset, ring_bytes(reply.sq), new_fd);
    std::byte* rq = context.arena_at(reply.rq, reply.rq.offset, ring_bytes(reply.rq), -1);
    std::byte* control = context.arena_at(reply.sq, reply.control_offset, sizeof(vroce_qp_control), -1);
    if (sq == nullptr || rq == nullptr || control == nullptr) return ENOMEM;
    auto& words = *reinterpret_cast<vroce_qp_control*>(control);
    place_queue(qp.send, reply.sq, sq, words.sq_producer, reply.max_send_wr, reply.max_send_sge);
    place_queue(qp.recv, reply.rq, rq, words.rq_producer, reply.max_recv_wr, reply.max_recv_sge);
    qp.send.max_inline = reply.max_inline;
    return 0;
}

/// What libibverbs' own command wrappers would fill in.
void fill_handle(ibv_qp& qp, ibv_pd& pd, const ibv_qp_init_attr& attr, const vroce_create_qp_reply& reply) {
    qp.context = pd.context;
    qp.qp_context = attr.qp_context;
    qp.pd = &pd;
    qp.send_cq = attr.send_cq;
    qp.recv_cq = attr.recv_cq;
    qp.srq = nullptr;
    qp.handle = reply.handle;
    qp.qp_num = reply.qpn;
    qp.state = IBV_QPS_RESET;
    qp.qp_type = attr.qp_type;
    pthread_mutex_init(&qp.mutex, nullptr);
    pthread_cond_init(&qp.cond, nullptr);
}

int check_init_attr(const ibv_qp_init_attr& attr) {
    if (attr.qp_type != IBV_QPT_RC) return EOPNOTSUPP;
    if (attr.srq != nullptr) return EOPNOTSUPP;
    return attr.send_cq != nullptr && attr.recv_cq != nullptr ? 0 : EINVAL;
}

vroce_create_qp to_request(const QueuePair& qp, const ProtectionDomain& pd, const ibv_qp_init_attr& attr) {
    vroce_create_qp request{};
    request.pd = pd.handle;
    request.send_cq = qp.send_cq->handle;
    request.recv_cq = qp.recv_cq->handle;
    request.qp_type = attr.qp_type;
    request.max_send_wr = attr.cap.max_send_wr;
    request.max_recv_wr = attr.cap.max_recv_wr;
    request.max_send_sge = attr.cap.max_send_sge;
    request.max_recv_sge = attr.cap.max_recv_sge;
    request.max_inline = attr.cap.max_inline_data;
    request.sq_sig_all = attr.sq_sig_all != 0 ? 1 : 0;
    request.user_handle = reinterpret_cast<std::uint64_t>(&qp.verbs.qp);
    return request;
}

int ask_to_destroy(Context& context, std::uint32_t handle, vroce_simple_reply& reply) {
    vroce_simple_request request{};
    request.handle = handle;
    return context.session.call(VROCE_DESTROY_QP, request, reply);
}

void join_cqs(QueuePair& qp) {
    const CqPairLock guard(qp);
    qp.send_cq->members.push_back(&qp);
    if (qp.recv_cq != qp.send_cq) qp.recv_cq->members.push_back(&qp);
    qp.context->add_qp(qp);
}

void leave(CompletionQueue& cq, QueuePair& qp) {
    cq.members.erase(std::remove(cq.members.begin(), cq.members.end(), &qp), cq.members.end());
    take_out_entries(cq, qp.verbs.qp.qp_num);
}

void leave_cqs(QueuePair& qp) {
    const CqPairLock guard(qp);
    leave(*qp.send_cq, qp);
    if (qp.recv_cq != qp.send_cq) leave(*qp.recv_cq, qp);
    qp.context->remove_qp(qp);
}

int try_create_qp(ibv_pd& pd, ibv_qp_init_attr& attr, QueuePair& qp) {
    if (const int error = check_init_attr(attr)) return error;
    Context& context = context_of(pd.context);
    if (const int error = context.control_error()) return error;
    qp.context = &context;
    qp.send_cq = &completion_queue(attr.send_cq);
    qp.recv_cq = &completion_queue(attr.recv_cq);
    qp.signal_all = attr.sq_sig_all != 0;
    vroce_create_qp request = to_request(qp, protection_domain(&pd), attr);
    vroce_create_qp_reply reply{};
    ReceivedFds fds;
    const std::lock_guard guard(context.creation);
    if (const int error = context.session.call(VROCE_CREATE_QP, request, reply, fds)) return error;
    if (const int error = place_rings(context, qp, reply, fds.take(0))) {
        vroce_simple_reply ignored{};
        static_cast<void>(ask_to_destroy(context, reply.handle, ignored));
        return error;
    }
    qp.handle = reply.handle;
    qp.slot = reply.slot;
    qp.caps = {reply.max_send_wr, reply.max_recv_wr, reply.max_send_sge, reply.max_recv_sge, reply.max_inline};
    attr.cap = qp.caps;
    fill_handle(qp.verbs.qp, pd, attr, reply);
    join_cqs(qp);
    return 0;
}

/// The NIC starts both queues at index 0 again and does not look at them before INIT.
void restart_rings(QueuePair& qp) {
    const CqPairLock cqs(qp);
    for (WorkQueue* queue : {&qp.send, &qp.recv}) {
        const std::lock_guard guard(queue->lock);
        publish_wqe(*queue->producer, 0);
        queue->head.store(0);
        queue->tail.store(0);
    }
    qp.error_seen.store(false);
    take_out_entries(*qp.send_cq, qp.verbs.qp.qp_num);
    if (qp.recv_cq != qp.send_cq) take_out_entries(*qp.recv_cq, qp.verbs.qp.qp_num);
}

void enter_state(QueuePair& qp, ibv_qp_state state) {
    if (state == IBV_QPS_RESET) restart_rings(qp);
    qp.state.store(static_cast<std::uint8_t>(state));
    // Work may wait that was posted before the state let it run, or that is to be flushed now.
    if (state == IBV_QPS_ERR || qp.send.outstanding() > 0) ring_doorbell(qp.context->doorbell, qp.slot);
}

}  // namespace

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
    auto qp = std::unique_ptr<QueuePair>(new (std::nothrow) QueuePair);
    if (qp == nullptr) return nullptr;
    if (const int error = try_create_qp(*pd, *attr, *qp)) {
        errno = error;
        return nullptr;
    }
    return &qp.release()->verbs.qp;
}

ibv_qp* create_qp_ex(ibv_context*, ibv_qp_init_attr_ex* attr) {
    constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    const bool builds = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    if ((attr->comp_mask & ~kKnown) != 0 || (builds && !can_build(attr->send_ops_flags))) {
        errno = EOPNOTSUPP;
        return nullptr;
    }
    if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr->pd == nullptr) {
        errno = EINVAL;
        return nullptr;
    }
    // The extended structure begins with the plain one.
    ibv_qp* qp = create_qp(attr->pd, reinterpret_cast<ibv_qp_init_attr*>(attr));
    if (qp != nullptr && builds) offer_builder(queue_pair(qp), attr->send_ops_flags);
    return qp;
}

int modify_qp(ibv_qp* base, ibv_qp_attr* attr, int attr_mask) {
    QueuePair& qp = queue_pair(base);
    if (const int error = qp.context->control_error()) return error;
    vroce_modify_qp request{};
    request.handle = qp.handle;
    request.attr_mask = static_cast<std::uint32_t>(attr_mask);
    request.attr = to_abi(*attr, attr_mask);
    vroce_query_qp_reply reply{};
    if (const int error = qp.context->session.call(VROCE_MODIFY_QP, request, reply)) return error;
    if ((attr_mask & IBV_QP_STATE) != 0) enter_state(qp, attr->qp_state);
    return 0;
}

int query_qp(ibv_qp* base, ibv_qp_attr* attr, int, ibv_qp_init_attr* init_attr) {
    QueuePair& qp = queue_pair(base);
    if (const int error = qp.context->control_error()) return error;
    vroce_simple_request request{};
    request.handle = qp.handle;
    vroce_query_qp_reply reply{};
    if (const int error = qp.context->session.call(VROCE_QUERY_QP, request, reply)) return error;
    *attr = to_verbs(reply.attr);
    attr->cap = qp.caps;
    *init_attr = {};
    init_attr->qp_context = base->qp_context;
    init_attr->send_cq = base->send_cq;
    init_attr->recv_cq = base->recv_cq;
    init_attr->cap = qp.caps;
    init_attr->qp_type = base->qp_type;
    init_attr->sq_sig_all = qp.signal_all ? 1 : 0;
    return 0;
}

int destroy_qp(ibv_qp* base) {
    QueuePair& qp = queue_pair(base);
    Context& context = *qp.context;
    if (context.usable()) {
        vroce_simple_reply reply{};
        const int error = context.dead() ? EIO : ask_to_destroy(context, qp.handle, reply);
        if (error != 0 && !context.session.dead()) return error;
        leave_cqs(qp);
        const std::uint32_t unread = context.async_events.withdraw(reinterpret_cast<std::uint64_t>(base));
        if (error == 0) {
            wait_until_acknowledged(base->mutex, base->cond, base->events_completed, reply.async_events - unread);
        }
    }
    pthread_cond_destroy(&base->cond);
    pthread_mutex_destroy(&base->mutex);
    delete &qp;
    return 0;
}

}  // namespace vroce::provider
