// The queue pairs of a device: made, moved through their states, ended.
#include <algorithm>
#include <bit>
#include <cerrno>

#include "nic/device/device.hpp"
#include "nic/device/qp_parameters.hpp"
#include "nic/device/qp_transitions.hpp"

namespace vroce::nic {

namespace {

constexpr std::uint32_t kQptRc = 2;  // enum ibv_qp_type

std::uint32_t round_stride(std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + 63) / 64 * 64);
}

QpShape make_shape(const vroce_create_qp& request, const QpPlan& plan) {
    QpShape shape;
    shape.sq = {nullptr, plan.sq_slots, plan.sq_stride};
    shape.rq = {nullptr, plan.rq_slots, plan.rq_stride};
    shape.max_send_sge = plan.max_send_sge;
    shape.max_recv_sge = plan.max_recv_sge;
    shape.max_inline = plan.max_inline;
    shape.user_handle = request.user_handle;
    shape.signal_all = request.sq_sig_all != 0;
    return shape;
}

}  // namespace

int Device::plan_qp(const vroce_create_qp& request, QpPlan& plan) {
    if (request.qp_type != kQptRc) return EOPNOTSUPP;
    if (request.max_send_wr > Limits::kQpWr || request.max_recv_wr > Limits::kQpWr ||
        request.max_send_sge > Limits::kSge || request.max_recv_sge > Limits::kSge ||
        request.max_inline > Limits::kInlineBytes)
        return EINVAL;
    // A queue that was not asked for has one slot: rings of no slots would be a case of their own everywhere.
    plan.sq_slots = std::bit_ceil(std::max(request.max_send_wr, 1u));
    plan.rq_slots = std::bit_ceil(std::max(request.max_recv_wr, 1u));
    plan.max_send_sge = std::max(request.max_send_sge, 1u);
    plan.max_recv_sge = std::max(request.max_recv_sge, 1u);
    const std::size_t sge_bytes = plan.max_send_sge * sizeof(vroce_sge);
    plan.sq_stride = round_stride(sizeof(vroce_send_wqe) + std::max<std::size_t>(sge_bytes, request.max_inline));
    plan.rq_stride = round_stride(sizeof(vroce_recv_wqe) + plan.max_recv_sge * sizeof(vroce_sge));
    // What the slot has room for anyway is given.
    const auto room = static_cast<std::uint32_t>(plan.sq_stride - sizeof(vroce_send_wqe));
    plan.max_inline = std::min(room, Limits::kInlineBytes);
    return 0;
}

bool Device::take_slot(Context& context, std::uint32_t& slot) {
    if (context.free_slots_.empty()) {
        slot = static_cast<std::uint32_t>(context.slots_.size());
        if (slot == VROCE_MAX_QP_SLOTS) return false;
        context.slots_.push_back(nullptr);
    } else {
        slot = context.free_slots_.back();
        context.free_slots_.pop_back();
    }
    return true;
}

int Device::create_qp(Context& context, const vroce_create_qp& request, const QpPlan& plan, vroce_qp_control* control,
                      std::uint8_t* sq, std::uint8_t* rq, std::uint32_t& handle, std::uint32_t& qpn,
                      std::uint32_t& slot) {
    Context::Pd* pd = context.pds_.find(request.pd);
    CompletionQueue* send_cq = context.cqs_.find(request.send_cq);
    CompletionQueue* recv_cq = context.cqs_.find(request.recv_cq);
    if (pd == nullptr || send_cq == nullptr || recv_cq == nullptr) return refuse(DeviceCounter::RefusedHandle, EINVAL);
    if (qps_ == Limits::kQps || !take_slot(context, slot)) return refuse(DeviceCounter::RefusedFull, ENOMEM);
    QpShape shape = make_shape(request, plan);
    shape.pd = pd->id;
    shape.control = control;
    shape.sq.base = sq;
    shape.rq.base = rq;
    shape.slot = slot;
    const ContextResources& resources = context.resources_;
    auto qp = std::make_unique<Context::Qp>();
    qp->pd = pd;
    qp->pair = std::make_unique<QueuePair>(
        shape, *send_cq, *recv_cq,
        QpSurroundings{regions_, *resources.memory, resources.copier, *resources.events, counters_, now_ns_});
    qpn = engine_.create_qp(*qp->pair, {plan.sq_slots, plan.rq_slots, shape.signal_all});
    if (qpn == 0) {
        context.free_slots_.push_back(slot);
        return refuse(DeviceCounter::RefusedFull, ENOMEM);
    }
    qp->pair->qpn = qpn;
    context.slots_[slot] = qp->pair.get();
    ++pd->users;
    ++send_cq->users;
    ++recv_cq->users;
    ++qps_;
    handle = context.qps_.insert(std::move(qp));
    return 0;
}

int Device::check_modify(QpState from, std::uint32_t attr_mask, const vroce_qp_attr& attr, const ResolvedPath* path,
                         QpState& to) {
    const auto present = static_cast<std::uint32_t>(from);
    const std::uint32_t target = (attr_mask & kAttrState) != 0 ? attr.qp_state : present;
    const bool expected = (attr_mask & kAttrCurState) == 0 || attr.cur_qp_state == present;
    if (!expected || target > static_cast<std::uint32_t>(QpState::Err) ||
        check_rc_transition(from, static_cast<QpState>(target), attr_mask) != 0)
        return refuse(DeviceCounter::RefusedTransition, EINVAL);
    if (check_qp_parameters(attr_mask, attr, path_mtu_max_bytes_) != 0)
        return refuse(DeviceCounter::RefusedArgument, EINVAL);
    to = static_cast<QpState>(target);
    // Not a refusal: the caller finds the path and comes again.
    return (attr_mask & kAttrAv) != 0 && path == nullptr ? EHOSTUNREACH : 0;
}

int Device::modify_qp(Context& context, Instant now, std::uint32_t handle, std::uint32_t attr_mask,
                      const vroce_qp_attr& attr, const ResolvedPath* path, vroce_qp_attr& result) {
    Context::Qp* found = context.qps_.find(handle);
    if (found == nullptr) return refuse(DeviceCounter::RefusedHandle, EINVAL);
    QueuePair& qp = *found->pair;
    const QpState from = engine_.query_qp(qp.qpn).state;
    QpState to = from;
    if (const int error = check_modify(from, attr_mask, attr, path, to)) return error;
    // Asked for with each transition, never left over from an earlier one.
    if (to == QpState::Sqd && from != QpState::Sqd) qp.attr.en_sqd_async_notify = 0;
    merge_qp_attributes(qp.attr, attr_mask, attr);
    if (to == QpState::Reset) qp.attr = vroce_qp_attr{};
    if ((attr_mask & kAttrAv) != 0) qp.path = *path;
    qp.state_changed(to);
    qp.attr.cur_qp_state = qp.attr.qp_state;
    engine_.modify_qp(now, qp.qpn, to, transport_attributes(qp.attr, qp.path, qp.qpn));
    if (to == QpState::Reset) end_copies(context, now, qp.qpn);
    return query_qp(context, handle, result);
}

int Device::query_qp(Context& context, std::uint32_t handle, vroce_qp_attr& result) {
    const Context::Qp* found = context.qps_.find(handle);
    if (found == nullptr) return refuse(DeviceCounter::RefusedHandle, EINVAL);
    const QpStatus status = engine_.query_qp(found->pair->qpn);
    result = found->pair->attr;
    result.qp_state = static_cast<std::uint32_t>(status.state);
    result.cur_qp_state = result.qp_state;
    result.sq_draining = status.sq_draining ? 1 : 0;
    if (status.state >= QpState::Rts) result.sq_psn = status.sq_psn;
    if (status.state >= QpState::Rtr) result.rq_psn = status.rq_psn;
    return 0;
}

int Device::destroy_qp(Context& context, std::uint32_t handle, std::uint32_t& async_events) {
    Context::Qp* qp = context.qps_.find(handle);
    if (qp == nullptr) return refuse(DeviceCounter::RefusedHandle, EINVAL);
    async_events = qp->pair->async_events();
    remove_qp(context, *qp);
    context.qps_.erase(handle);
    return 0;
}

void Device::remove_qp(Context& context, Context::Qp& qp) {
    QueuePair& pair = *qp.pair;
    engine_.destroy_qp(pair.qpn);
    end_copies(context, now_, pair.qpn);
    context.slots_[pair.shape().slot] = nullptr;
    context.free_slots_.push_back(pair.shape().slot);
    --pair.send_cq().users;
    --pair.recv_cq().users;
    --qp.pd->users;
    --qps_;
}

/// The engine keeps packets, and a destroyed queue pair, until their copies end. A cancelled copy touches them no more
/// and is never told of: for the engine it ends here.
void Device::end_copies(const Context& context, Instant now, std::uint32_t qpn) {
    if (context.copier() == nullptr) return;
    context.copier()->cancel(qpn);
    engine_.on_copy_done(now, qpn, CopyDirection::Send, false);
    engine_.on_copy_done(now, qpn, CopyDirection::Receive, false);
}

}  // namespace vroce::nic
