// A device: the verbs objects of one endpoint. It belongs to the worker; the control side calls it through the mailbox
// after it has copied and measured what an application asked. Returned ints are 0 or a positive errno.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/time.hpp"
#include "nic/device/context.hpp"
#include "nic/device/device_counters.hpp"
#include "nic/device/limits.hpp"
#include "nic/device/qp_parameters.hpp"
#include "nic/memory/mr_table.hpp"
#include "nic/transport/engine.hpp"
#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

/// Rings as they must be made for a QP that was asked for; caps are >= what was asked.
struct QpPlan {
    std::uint32_t sq_slots = 0;
    std::uint32_t sq_stride = 0;
    std::uint32_t rq_slots = 0;
    std::uint32_t rq_stride = 0;
    std::uint32_t max_send_sge = 0;
    std::uint32_t max_recv_sge = 0;
    std::uint32_t max_inline = 0;
};

struct MrRequest {
    std::uint32_t pd = 0;
    std::uint32_t access = 0;
    std::uint64_t addr = 0;
    std::uint64_t length = 0;
    std::uint64_t iova = 0;
    std::unique_ptr<MappedMemory> mapping;  ///< when the memory is shared by descriptor
};

/// Mappings of regions that went. Unmapping takes the kernel time: give this to the control thread.
using RetiredMappings = std::vector<std::unique_ptr<MappedMemory>>;

struct QpView {
    std::uint32_t qpn;
    std::uint32_t handle;
    QpStatus status;
    const vroce_qp_attr& attr;
};

class Device {
public:
    /// `random32` gives memory keys; it must not be predictable.
    Device(Engine& engine, std::function<std::uint32_t()> random32);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    Context* open_context(ContextResources resources);
    /// Frees all that the context had, in any state. Afterwards nothing of its rings is touched, and of its memory only
    /// by a copy that the copier has begun. Without `retired`, mappings are unmapped here.
    void close_context(Context* context, RetiredMappings* retired = nullptr);
    /// The same in steps of at most `objects`, so that a full device does not hold the worker up (10 ms when it has all
    /// that the limits allow): true when the context is gone. Nothing else may be asked of it after the first step.
    [[nodiscard]] bool close_some(Context* context, std::size_t objects, RetiredMappings* retired = nullptr);

    int alloc_pd(Context& context, std::uint32_t& handle);
    int dealloc_pd(Context& context, std::uint32_t handle);  ///< EBUSY while something uses it

    int reg_mr(Context& context, MrRequest request, std::uint32_t& handle, std::uint32_t& key);
    /// Copies of a copier that have not begun fail; one that runs is over when Copier::passed() says so.
    int dereg_mr(Context& context, std::uint32_t handle, RetiredMappings* retired = nullptr);

    /// How many slots a CQ of at least `cqe` entries has; EINVAL beyond the limits.
    static int plan_cq(std::uint32_t cqe, std::uint32_t comp_vector, std::uint32_t& slots);
    int create_cq(Context& context, const CqRing& ring, std::uint32_t channel, std::uint64_t user_handle,
                  std::uint32_t& handle);
    /// EBUSY while a QP uses it. No more events are written afterwards; the counts are all that ever were.
    int destroy_cq(Context& context, std::uint32_t handle, std::uint32_t& comp_events, std::uint32_t& async_events);

    static int plan_qp(const vroce_create_qp& request, QpPlan& plan);
    int create_qp(Context& context, const vroce_create_qp& request, const QpPlan& plan, vroce_qp_control* control,
                  std::uint8_t* sq, std::uint8_t* rq, std::uint32_t& handle, std::uint32_t& qpn, std::uint32_t& slot);
    /// `path` is needed when the mask has IBV_QP_AV. `result` is all attributes as they are afterwards.
    int modify_qp(Context& context, Instant now, std::uint32_t handle, std::uint32_t attr_mask,
                  const vroce_qp_attr& attr, const ResolvedPath* path, vroce_qp_attr& result);
    int query_qp(Context& context, std::uint32_t handle, vroce_qp_attr& result);
    int destroy_qp(Context& context, std::uint32_t handle, std::uint32_t& async_events);

    /// Fills everything but GUIDs, vendor ids and the firmware's name.
    static void fill_limits(vroce_device_attr& attr);
    /// Largest path MTU (bytes) that modify_qp accepts; from the port.
    void set_path_mtu_max(std::uint32_t bytes) { path_mtu_max_bytes_ = bytes; }
    /// How long a session's memory may leave a copy without an end before its queue pairs go to error.
    void set_copy_limit(Duration limit) { copy_limit_ = limit; }

    // ---- worker's loop
    /// Once per iteration: the time that completions are stamped with.
    void set_time(Instant now) {
        now_ = now;
        now_ns_ = static_cast<std::uint64_t>(now.ps / 1'000);
    }
    /// Takes what applications have rung, of each a bounded part. True when there was anything, or there is more.
    bool scan_doorbells(Instant now);
    /// Hands copies of other users' sessions that have ended to the engine, and puts the queue pairs of a session whose
    /// copy is stuck in error. True when there was anything.
    bool collect_copies(Instant now);
    /// When collect_copies() would find a copy stuck.
    [[nodiscard]] Instant next_deadline() const;

    [[nodiscard]] const DeviceCounters& counters() const { return counters_; }
    [[nodiscard]] std::size_t context_count() const { return contexts_.size(); }
    [[nodiscard]] std::size_t qp_count() const { return qps_; }
    [[nodiscard]] std::size_t mr_count() const { return regions_.size(); }
    void for_each_qp(const std::function<void(const QpView&)>& visit) const;
    void for_each_mr(const std::function<void(const MemoryRegion&)>& visit) const { regions_.for_each(visit); }

private:
    [[nodiscard]] int refuse(DeviceCounter why, int error);
    void remove_mr(std::uint32_t key, RetiredMappings* retired);
    void remove_qp(Context& context, Context::Qp& qp);
    [[nodiscard]] static bool take_slot(Context& context, std::uint32_t& slot);
    [[nodiscard]] int check_modify(QpState from, std::uint32_t attr_mask, const vroce_qp_attr& attr,
                                   const ResolvedPath* path, QpState& to);
    void end_copies(const Context& context, Instant now, std::uint32_t qpn);
    bool scan_context(Context& context, Instant now);
    std::size_t ring_leaf(Context& context, std::size_t leaf, Instant now);
    bool collect_context(Context& context, Instant now);
    void give_up_copies(Context& context, Instant now);

    Engine& engine_;
    MrTable regions_;
    DeviceCounters counters_;
    std::vector<std::unique_ptr<Context>> contexts_;
    std::vector<Context*> copying_;  ///< contexts with a copier
    std::vector<PdId> free_pds_;     ///< numbers that nothing refers to any more
    PdId next_pd_ = 1;
    std::size_t pds_ = 0;
    std::size_t cqs_ = 0;
    std::size_t qps_ = 0;
    std::uint32_t path_mtu_max_bytes_ = 4'096;
    /// Longer than a fork of a large application holds its pages (48 ms for 4 GiB) or a disk needs for one of them.
    Duration copy_limit_ = seconds(1);
    Instant now_{};
    std::uint64_t now_ns_ = 0;
};

}  // namespace vroce::nic
