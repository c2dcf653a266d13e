#include "nic/device/device.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>

namespace vroce::nic {

namespace {

constexpr std::uint32_t kAccessKnown = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;
/// enum ibv_access_flags that a device may ignore (IBV_ACCESS_OPTIONAL_RANGE).
constexpr std::uint32_t kAccessOptional = 0x3FF00000;

}  // namespace

Device::Device(Engine& engine, std::function<std::uint32_t()> random32)
    : engine_(engine), regions_(Limits::kMrs, std::move(random32)) {}

Device::~Device() {
    while (!contexts_.empty()) close_context(contexts_.back().get());
}

int Device::refuse(DeviceCounter why, int error) {
    counters_.add(why);
    return error;
}

// ---- contexts ------------------------------------------------------------------------------------------------------

Context* Device::open_context(ContextResources resources) {
    contexts_.push_back(std::make_unique<Context>(std::move(resources)));
    Context* context = contexts_.back().get();
    if (context->resources_.copier != nullptr) copying_.push_back(context);
    return context;
}

void Device::close_context(Context* context, RetiredMappings* retired) {
    while (!close_some(context, SIZE_MAX, retired)) {
    }
}

bool Device::close_some(Context* context, std::size_t objects, RetiredMappings* retired) {
    if (!context->closing_) {
        context->closing_ = true;
        copying_.erase(std::remove(copying_.begin(), copying_.end(), context), copying_.end());
        // Of all at once: one by one would look through the copies of all queue pairs for each of them.
        if (Copier* copier = context->copier()) copier->cancel_all();
    }
    for (; objects != 0; --objects) {
        if (const auto qp = context->qps_.take_any())
            remove_qp(*context, *qp);
        else if (const auto mr = context->mrs_.take_any())
            remove_mr(mr->key, retired);
        else
            break;
    }
    if (objects == 0) return false;
    context->pds_.for_each([&](std::uint32_t, const Context::Pd& pd) { free_pds_.push_back(pd.id); });
    cqs_ -= context->cqs_.size();
    pds_ -= context->pds_.size();
    std::erase_if(contexts_, [context](const auto& owned) { return owned.get() == context; });
    return true;
}

// ---- protection domains and memory regions -------------------------------------------------------------------------

int Device::alloc_pd(Context& context, std::uint32_t& handle) {
    if (pds_ == Limits::kPds) return refuse(DeviceCounter::RefusedFull, ENOMEM);
    ++pds_;
    auto pd = std::make_unique<Context::Pd>();
    if (free_pds_.empty()) {
        pd->id = next_pd_++;
    } else {
        pd->id = free_pds_.back();
        free_pds_.pop_back();
    }
    handle = context.pds_.insert(std::move(pd));
    return 0;
}

int Device::dealloc_pd(Context& context, std::uint32_t handle) {
    const Context::Pd* pd = context.pds_.find(handle);
    if (pd == nullptr) return refuse(DeviceCounter::RefusedHandle, EINVAL);
    if (pd->users != 0) return refuse(DeviceCounter::RefusedBusy, EBUSY);
    free_pds_.push_back(pd->id);
    context.pds_.erase(handle);
    --pds_;
    return 0;
}

int Device::reg_mr(Context& context, MrRequest request, std::uint32_t& handle, std::uint32_t& key) {
    Context::Pd* pd = context.pds_.find(request.pd);
    const std::uint32_t access = request.access & ~kAccessOptional;
    if (pd == nullptr) return refuse(DeviceCounter::RefusedHandle, EINVAL);
    if (request.length > Limits::kMrBytes || request.addr + request.length < request.addr ||
        request.iova + request.length < request.iova)
        return refuse(DeviceCounter::RefusedArgument, EINVAL);
    if ((access & ~kAccessKnown) != 0) return refuse(DeviceCounter::RefusedArgument, EOPNOTSUPP);
    // Remote writing without local writing: IBTA 10.6.3.
    const std::uint32_t needs_local = kAccessRemoteWrite | kAccessRemoteAtomic;
    if ((access & needs_local) != 0 && (access & kAccessLocalWrite) == 0)
        return refuse(DeviceCounter::RefusedArgument, EINVAL);
    MemoryRegion region;
    region.pd = pd->id;
    region.addr = request.addr;
    region.length = request.length;
    region.iova = request.iova;
    region.access = access;
    region.space = context.resources_.memory.get();
    region.mapping = std::move(request.mapping);
    const MemoryRegion* inserted = regions_.insert(std::move(region));
    if (inserted == nullptr) return refuse(DeviceCounter::RefusedFull, ENOMEM);
    key = inserted->key;
    ++pd->users;
    handle = context.mrs_.insert(std::make_unique<Context::Mr>(Context::Mr{key, pd}));
    return 0;
}

int Device::dereg_mr(Context& context, std::uint32_t handle, RetiredMappings* retired) {
    const std::unique_ptr<Context::Mr> mr = context.mrs_.erase(handle);
    if (mr == nullptr) return refuse(DeviceCounter::RefusedHandle, EINVAL);
    if (Copier* copier = context.copier()) copier->revoke_key(mr->key);
    remove_mr(mr->key, retired);
    --mr->pd->users;
    return 0;
}

void Device::remove_mr(std::uint32_t key, RetiredMappings* retired) {
    std::unique_ptr<MappedMemory> mapping = regions_.erase(key);
    if (retired != nullptr && mapping != nullptr) retired->push_back(std::move(mapping));
}

// ---- completion queues ---------------------------------------------------------------------------------------------

int Device::plan_cq(std::uint32_t cqe, std::uint32_t comp_vector, std::uint32_t& slots) {
    if (cqe == 0 || cqe > Limits::kCqes || comp_vector >= Limits::kCompVectors) return EINVAL;
    slots = std::bit_ceil(cqe);
    return 0;
}

int Device::create_cq(Context& context, const CqRing& ring, std::uint32_t channel, std::uint64_t user_handle,
                      std::uint32_t& handle) {
    if (cqs_ == Limits::kCqs) return refuse(DeviceCounter::RefusedFull, ENOMEM);
    ++cqs_;
    handle = context.cqs_.insert(
        std::make_unique<CompletionQueue>(ring, channel, user_handle, *context.resources_.events, counters_));
    return 0;
}

int Device::destroy_cq(Context& context, std::uint32_t handle, std::uint32_t& comp_events,
                       std::uint32_t& async_events) {
    const CompletionQueue* cq = context.cqs_.find(handle);
    if (cq == nullptr) return refuse(DeviceCounter::RefusedHandle, EINVAL);
    if (cq->users != 0) return refuse(DeviceCounter::RefusedBusy, EBUSY);
    comp_events = cq->comp_events();
    async_events = cq->async_events();
    context.cqs_.erase(handle);
    --cqs_;
    return 0;
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
