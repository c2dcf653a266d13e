#include "nic/device/device.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "nic/device/qp_parameters.hpp"
#include "nic/device/qp_transitions.hpp"
#include "nic/device/shared.hpp"

namespace vroce::nic {

namespace {

constexpr std::uint32_t kQptRc = 2;  // enum ibv_qp_type
constexpr std::uint32_t kAccessKnown = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;
/// enum ibv_access_flags that a device may ignore (IBV_ACCESS_OPTIONAL_RANGE).
constexpr std::uint32_t kAccessOptional = 0x3FF00000;

std::uint32_t round_stride(std::size_t bytes) {
    return static_cast<std::uint32_t>((bytes + 63) / 64 * 64);
}

}  // namespace

Device::Device(Engine& engine, std::function<std::uint32_t()> random32)
    : engine_(engine), regions_(Limits::kMrs, std::move(random32)) {}

Device::~Device() {
    while (!contexts_.empty()) close_context(contexts_.back().get());
}

// ---- contexts ------------------------------------------------------------------------------------------------------

Context* Device::open_context(ContextResources resources) {
    contexts_.push_back(std::make_unique<Context>(std::move(resources)));
    Context* context = contexts_.back().get();
    if (context->resources_.copier != nullptr) copying_.push_back(context);
    return context;
}

void Device::close_context(Context* context) {
    context->qps_.for_each([&](std::uint32_t, Context::Qp& qp) { remove_qp(*context, qp); });
    context->mrs_.for_each([&](std::uint32_t, const Context::Mr& mr) { regions_.erase(mr.key); });
    cqs_ -= context->cqs_.size();
    pds_ -= context->pds_.size();
    copying_.erase(std::remove(copying_.begin(), copying_.end(), context), copying_.end());
    std::erase_if(contexts_, [context](const auto& owned) { return owned.get() == context; });
}

// ---- protection domains and memory regions -------------------------------------------------------------------------

int Device::alloc_pd(Context& context, std::uint32_t& handle) {
    if (pds_ == Limits::kPds) return ENOMEM;
    ++pds_;
    auto pd = std::make_unique<Context::Pd>();
    pd->id = next_pd_++;
    handle = context.pds_.insert(std::move(pd));
    return 0;
}

int Device::dealloc_pd(Context& context, std::uint32_t handle) {
    const Context::Pd* pd = context.pds_.find(handle);
    if (pd == nullptr) return EINVAL;
    if (pd->users != 0) return EBUSY;
    context.pds_.erase(handle);
    --pds_;
    return 0;
}

int Device::reg_mr(Context& context, MrRequest request, std::uint32_t& handle, std::uint32_t& key) {
    Context::Pd* pd = context.pds_.find(request.pd);
    const std::uint32_t access = request.access & ~kAccessOptional;
    if (pd == nullptr || request.length > Limits::kMrBytes || request.addr + request.length < request.addr ||
        request.iova + request.length < request.iova)
        return EINVAL;
    if ((access & ~kAccessKnown) != 0) return EOPNOTSUPP;
    // Remote writing without local writing: IBTA 10.6.3.
    const std::uint32_t needs_local = kAccessRemoteWrite | kAccessRemoteAtomic;
    if ((access & needs_local) != 0 && (access & kAccessLocalWrite) == 0) return EINVAL;
    MemoryRegion region;
    region.pd = pd->id;
    region.addr = request.addr;
    region.length = request.length;
    region.iova = request.iova;
    region.access = access;
    region.space = context.resources_.memory.get();
    region.mapping = std::move(request.mapping);
    const MemoryRegion* inserted = regions_.insert(std::move(region));
    if (inserted == nullptr) return ENOMEM;
    key = inserted->key;
    ++pd->users;
    handle = context.mrs_.insert(std::make_unique<Context::Mr>(Context::Mr{key, pd}));
    return 0;
}

int Device::dereg_mr(Context& context, std::uint32_t handle) {
    const std::unique_ptr<Context::Mr> mr = context.mrs_.erase(handle);
    if (mr == nullptr) return EINVAL;
    regions_.erase(mr->key);
    --mr->pd->users;
    return 0;
}

// ---- completion queues ---------------------------------------------------------------------------------------------

int Device::plan_cq(std::uint32_t cqe, std::uint32_t comp_vector, std::uint32_t& slots) {
    if (cqe == 0 || cqe > Limits::kCqes || comp_vector >= Limits::kCompVectors) return EINVAL;
    slots = std::bit_ceil(cqe);
    return 0;
}

int Device::create_cq(Context& context, const CqRing& ring, std::uint32_t channel, std::uint64_t user_handle,
                      std::uint32_t& handle) {
    if (cqs_ == Limits::kCqs) return ENOMEM;
    ++cqs_;
    handle =
        context.cqs_.insert(std::make_unique<CompletionQueue>(ring, channel, user_handle, *context.resources_.events));
    return 0;
}

int Device::destroy_cq(Context& context, std::uint32_t handle, std::uint32_t& comp_events,
                       std::uint32_t& async_events) {
    const CompletionQueue* cq = context.cqs_.find(handle);
    if (cq == nullptr) return EINVAL;
    if (cq->users != 0) return EBUSY;
    comp_events = cq->comp_events();
    async_events = cq->async_events();
    context.cqs_.erase(handle);
    --cqs_;
    return 0;
}

// ---- queue pairs ---------------------------------------------------------------------------------------------------

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

int Device::create_qp(Context& context, const vroce_create_qp& request, const QpPlan& plan, vroce_qp_control* control,
                      std::uint8_t* sq, std::uint8_t* rq, std::uint32_t& handle, std::uint32_t& qpn,
                      std::uint32_t& slot) {
    Context::Pd* pd = context.pds_.find(request.pd);
    CompletionQueue* send_cq = context.cqs_.find(request.send_cq);
    CompletionQueue* recv_cq = context.cqs_.find(request.recv_cq);
    if (pd == nullptr || send_cq == nullptr || recv_cq == nullptr) return EINVAL;
    if (qps_ == Limits::kQps) return ENOMEM;
    if (context.free_slots_.empty()) {
        slot = static_cast<std::uint32_t>(context.slots_.size());
        if (slot == VROCE_MAX_QP_SLOTS) return ENOMEM;
        context.slots_.push_back(nullptr);
    } else {
        slot = context.free_slots_.back();
        context.free_slots_.pop_back();
    }
    QpShape shape;
    shape.pd = pd->id;
    shape.control = control;
    shape.sq = {sq, plan.sq_slots, plan.sq_stride};
    shape.rq = {rq, plan.rq_slots, plan.rq_stride};
    shape.max_send_sge = plan.max_send_sge;
    shape.max_recv_sge = plan.max_recv_sge;
    shape.max_inline = plan.max_inline;
    shape.slot = slot;
    shape.user_handle = request.user_handle;
    shape.signal_all = request.sq_sig_all != 0;
    auto qp = std::make_unique<Context::Qp>();
    qp->pd = pd;
    qp->pair = std::make_unique<QueuePair>(shape, *send_cq, *recv_cq, regions_, *context.resources_.memory,
                                           *context.resources_.events, now_ns_);
    qpn = engine_.create_qp(*qp->pair, {plan.sq_slots, plan.rq_slots, shape.signal_all});
    if (qpn == 0) {
        context.free_slots_.push_back(slot);
        return ENOMEM;
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

int Device::modify_qp(Context& context, Instant now, std::uint32_t handle, std::uint32_t attr_mask,
                      const vroce_qp_attr& attr, const ResolvedPath* path, vroce_qp_attr& result) {
    Context::Qp* found = context.qps_.find(handle);
    if (found == nullptr) return EINVAL;
    QueuePair& qp = *found->pair;
    const QpStatus status = engine_.query_qp(qp.qpn);
    if ((attr_mask & kAttrCurState) != 0 && attr.cur_qp_state != static_cast<std::uint32_t>(status.state))
        return EINVAL;
    const std::uint32_t target =
        (attr_mask & kAttrState) != 0 ? attr.qp_state : static_cast<std::uint32_t>(status.state);
    if (target > static_cast<std::uint32_t>(QpState::Err)) return EINVAL;
    const auto to = static_cast<QpState>(target);
    int error = check_rc_transition(status.state, to, attr_mask);
    if (error == 0) error = check_qp_parameters(attr_mask, attr, path_mtu_max_bytes_);
    if (error == 0 && (attr_mask & kAttrAv) != 0 && path == nullptr) error = EHOSTUNREACH;
    if (error != 0) return error;
    merge_qp_attributes(qp.attr, attr_mask, attr);
    if (to == QpState::Reset) qp.attr = vroce_qp_attr{};
    if ((attr_mask & kAttrAv) != 0) qp.path = *path;
    qp.attr.qp_state = target;
    qp.attr.cur_qp_state = target;
    engine_.modify_qp(now, qp.qpn, to, transport_attributes(qp.attr, qp.path, qp.qpn));
    return query_qp(context, handle, result);
}

int Device::query_qp(Context& context, std::uint32_t handle, vroce_qp_attr& result) {
    const Context::Qp* found = context.qps_.find(handle);
    if (found == nullptr) return EINVAL;
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
    if (qp == nullptr) return EINVAL;
    async_events = qp->pair->async_events();
    remove_qp(context, *qp);
    context.qps_.erase(handle);
    return 0;
}

void Device::remove_qp(Context& context, Context::Qp& qp) {
    QueuePair& pair = *qp.pair;
    engine_.destroy_qp(pair.qpn);
    context.resources_.memory->cancel(pair.qpn);
    context.slots_[pair.shape().slot] = nullptr;
    context.free_slots_.push_back(pair.shape().slot);
    --pair.send_cq().users;
    --pair.recv_cq().users;
    --qp.pd->users;
    --qps_;
}

// ---- worker's loop -------------------------------------------------------------------------------------------------

bool Device::scan_doorbells(Instant now) {
    bool any = false;
    for (const auto& context : contexts_) any = scan_context(*context, now) || any;
    return any;
}

bool Device::scan_context(Context& context, Instant now) {
    vroce_doorbell_page& page = *context.resources_.doorbells;
    bool any = false;
    for (std::size_t s = 0; s < std::size(page.summary); ++s) {
        for (std::uint64_t words = take_bits(page.summary[s]); words != 0; words &= words - 1) {
            const std::size_t leaf = s * 64 + static_cast<std::size_t>(std::countr_zero(words));
            for (std::uint64_t bits = take_bits(page.leaf[leaf]); bits != 0; bits &= bits - 1) {
                const std::size_t slot = leaf * 64 + static_cast<std::size_t>(std::countr_zero(bits));
                // A bit of no QP is an application's mistake and nobody else's concern.
                if (slot >= context.slots_.size() || context.slots_[slot] == nullptr) continue;
                engine_.doorbell(now, context.slots_[slot]->qpn);
                any = true;
            }
        }
    }
    return any;
}

bool Device::collect_copies(Instant now) {
    bool any = false;
    for (Context* context : copying_)
        context->resources_.copier->collect([&](CopyTag tag, bool ok) {
            any = true;
            engine_.on_copy_done(now, tag.qpn, tag.direction, ok);
        });
    return any;
}

// ---- views ---------------------------------------------------------------------------------------------------------

void Device::fill_limits(vroce_device_attr& attr) {
    attr.max_mr_bytes = Limits::kMrBytes;
    attr.page_size_cap = ~std::uint64_t{0xFFF};
    attr.hw_ver = 1;
    attr.device_cap_flags = 0;
    attr.max_qp = Limits::kQps;
    attr.max_qp_wr = Limits::kQpWr;
    attr.max_sge = Limits::kSge;
    attr.max_sge_rd = Limits::kSge;
    attr.max_cq = Limits::kCqs;
    attr.max_cqe = Limits::kCqes;
    attr.max_mr = Limits::kMrs;
    attr.max_pd = Limits::kPds;
    attr.max_qp_rd_atom = Limits::kRdAtomic;
    attr.max_res_rd_atom = Limits::kRdAtomic * Limits::kQps;
    attr.max_qp_init_rd_atom = Limits::kRdAtomic;
    attr.max_inline = Limits::kInlineBytes;
    attr.max_pkeys = 1;
    attr.local_ca_ack_delay = 0;
    attr.phys_port_cnt = 1;
    attr.num_comp_vectors = Limits::kCompVectors;
}

void Device::for_each_qp(const std::function<void(const QpView&)>& visit) const {
    for (const auto& context : contexts_)
        context->qps_.for_each([&](std::uint32_t handle, const Context::Qp& qp) {
            visit({qp.pair->qpn, handle, engine_.query_qp(qp.pair->qpn), qp.pair->attr});
        });
}

}  // namespace vroce::nic
