// A completion queue: the NIC writes entries into shared memory and never reads them back.
#pragma once

#include <cstdint>

#include "nic/device/device_counters.hpp"
#include "nic/device/event_sink.hpp"
#include "nic/transport/types.hpp"
#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

struct CqRing {
    vroce_cq_control* control = nullptr;
    vroce_cqe* entries = nullptr;
    std::uint32_t slots = 0;  ///< power of two
};

class CompletionQueue {
public:
    static constexpr std::uint32_t kNoChannel = UINT32_MAX;

    CompletionQueue(const CqRing& ring, std::uint32_t channel, std::uint64_t user_handle, EventSink& events,
                    DeviceCounters& counters)
        : ring_(ring), channel_(channel), user_handle_(user_handle), events_(&events), counters_(&counters) {}

    /// False when the ring is full: the first time that happens CQ_ERR is raised, and nothing is accepted any more.
    bool push(const Completion& completion, std::uint32_t qpn, std::uint32_t qp_slot, std::uint64_t timestamp_ns);

    std::uint32_t users = 0;  ///< queue pairs whose send or receive queue ends here

    [[nodiscard]] std::uint32_t comp_events() const { return comp_events_; }
    [[nodiscard]] std::uint32_t async_events() const { return async_events_; }
    [[nodiscard]] std::uint32_t channel() const { return channel_; }
    [[nodiscard]] std::uint32_t slots() const { return ring_.slots; }
    [[nodiscard]] std::uint32_t produced() const { return head_; }
    [[nodiscard]] bool overflowed() const { return overflowed_; }

private:
    void overflow();
    void notify(bool solicited);

    CqRing ring_;
    std::uint32_t channel_;
    std::uint64_t user_handle_;
    EventSink* events_;
    DeviceCounters* counters_;
    std::uint32_t head_ = 0;
    std::uint32_t comp_events_ = 0;
    std::uint32_t async_events_ = 0;
    bool overflowed_ = false;
};

}  // namespace vroce::nic
