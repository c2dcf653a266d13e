// What one open device of one application owns. Made, changed and ended by Device only, on the worker.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/time.hpp"
#include "nic/device/completion_queue.hpp"
#include "nic/device/event_sink.hpp"
#include "nic/device/handle_table.hpp"
#include "nic/device/queue_pair.hpp"
#include "nic/memory/copier.hpp"

namespace vroce::nic {

/// What the host layer gives a context; it must outlive the context, except for what is owned here.
struct ContextResources {
    vroce_doorbell_page* doorbells = nullptr;
    std::unique_ptr<AddressSpace> memory;
    Copier* copier = nullptr;  ///< the same object as `memory` when that is a copier, else nullptr
    EventSink* events = nullptr;
};

class Context {
public:
    explicit Context(ContextResources resources) : resources_(std::move(resources)) {}

    [[nodiscard]] std::size_t qp_count() const { return qps_.size(); }
    [[nodiscard]] std::size_t cq_count() const { return cqs_.size(); }
    [[nodiscard]] std::size_t mr_count() const { return mrs_.size(); }
    [[nodiscard]] std::size_t pd_count() const { return pds_.size(); }
    [[nodiscard]] Copier* copier() const { return resources_.copier; }

private:
    friend class Device;
    struct Pd {
        PdId id = 0;
        std::uint32_t users = 0;  ///< regions and queue pairs
    };
    struct Mr {
        std::uint32_t key = 0;
        Pd* pd = nullptr;
    };
    struct Qp {
        std::unique_ptr<QueuePair> pair;
        Pd* pd = nullptr;
    };

    ContextResources resources_;
    HandleTable<Pd> pds_;
    HandleTable<Mr> mrs_;
    HandleTable<CompletionQueue> cqs_;
    HandleTable<Qp> qps_;
    std::vector<QueuePair*> slots_;  ///< by doorbell bit
    std::vector<std::uint32_t> free_slots_;
    std::array<std::uint64_t, VROCE_MAX_QP_SLOTS / 64 / 64> rung_{};  ///< leaves of this round not yet looked at
    bool closing_ = false;
    Instant copies_wait_since_ = kNever;  ///< for a copy, while none ends
};

}  // namespace vroce::nic
