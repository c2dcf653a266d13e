// The objects behind the verbs handles. Each begins with the structure that libibverbs sees, so that a handle is a
// pointer to ours. The fast files (post, poll) touch only what is declared here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "provider/abi/vroce_abi.h"
#include "provider/src/private_abi.hpp"
#include "provider/src/spin_lock.hpp"

namespace vroce::provider {

class Context;
struct Channel;
struct CompletionQueue;

/// One send or receive queue: a ring of `slots` WQEs of which `limit` may be posted and not yet completed.
struct WorkQueue {
    SpinLock lock;                      ///< posting; taken by the poster only
    std::byte* ring = nullptr;          ///< in an arena
    std::uint32_t* producer = nullptr;  ///< in an arena
    std::uint32_t mask = 0;
    std::uint32_t stride = 0;
    std::uint32_t limit = 0;
    std::uint32_t max_sge = 0;
    std::uint32_t max_inline = 0;
    std::atomic<std::uint32_t> head{0};  ///< poster: rw; poller: ro
    std::atomic<std::uint32_t> tail{0};  ///< poller under its CQ's lock: rw; poster: ro. head - tail <= limit

    [[nodiscard]] std::byte* slot(std::uint32_t index) const {
        return ring + static_cast<std::size_t>(index & mask) * stride;
    }
    [[nodiscard]] std::uint32_t outstanding() const {
        return head.load(std::memory_order_acquire) - tail.load(std::memory_order_relaxed);
    }
};

/// A chain that ibv_wr_start began; the send queue's lock is held until complete or abort.
struct WrBuilder {
    std::uint32_t head = 0;
    int error = 0;
    vroce_send_wqe* current = nullptr;
};

struct QueuePair {
    verbs_qp verbs{};
    Context* context = nullptr;
    CompletionQueue* send_cq = nullptr;
    CompletionQueue* recv_cq = nullptr;
    std::uint32_t handle = 0;
    std::uint32_t slot = 0;
    std::atomic<std::uint8_t> state{IBV_QPS_RESET};
    std::atomic<bool> error_seen{false};  ///< a completion or an event told of an error: receives need the doorbell
    bool signal_all = false;
    ibv_qp_cap caps{};
    WorkQueue send;
    WorkQueue recv;
    WrBuilder builder;
};

struct CompletionQueue {
    ibv_cq verbs{};
    Context* context = nullptr;
    Channel* channel = nullptr;
    vroce_cqe* ring = nullptr;            ///< in an arena
    vroce_cq_control* control = nullptr;  ///< in an arena
    std::uint32_t mask = 0;
    std::uint32_t shift = 0;  ///< log2 of the slots
    std::uint32_t handle = 0;
    SpinLock lock;  ///< guards all below, and the tails of the members' queues
    std::uint32_t consumer = 0;
    std::uint32_t empty_polls = 0;
    std::vector<QueuePair*> members;  ///< QPs that complete here, for the flush after the NIC's death

    [[nodiscard]] std::uint32_t phase_of(std::uint32_t index) const {
        return static_cast<std::uint32_t>((std::uint64_t{index} >> shift) + 1);
    }
};

struct ProtectionDomain {
    ibv_pd verbs{};
    std::uint32_t handle = 0;
};

struct MemoryRegion {
    verbs_mr verbs{};
    std::uint32_t handle = 0;
};

inline QueuePair& queue_pair(ibv_qp* qp) {
    return *reinterpret_cast<QueuePair*>(qp);
}
inline CompletionQueue& completion_queue(ibv_cq* cq) {
    return *reinterpret_cast<CompletionQueue*>(cq);
}
inline ProtectionDomain& protection_domain(ibv_pd* pd) {
    return *reinterpret_cast<ProtectionDomain*>(pd);
}

static_assert(offsetof(QueuePair, verbs) == 0);
static_assert(offsetof(CompletionQueue, verbs) == 0);
static_assert(offsetof(ProtectionDomain, verbs) == 0);
static_assert(offsetof(MemoryRegion, verbs) == 0);

}  // namespace vroce::provider
