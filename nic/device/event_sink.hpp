// Where completion and asynchronous events of one context leave. The host layer implements it by pipes; it never blocks
// and never loses a record.
#pragma once

#include <cstdint>

#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

class EventSink {
public:
    virtual ~EventSink() = default;
    /// An armed completion queue on this channel got an entry.
    virtual void comp_event(std::uint32_t channel, std::uint64_t cq_user_handle) = 0;
    virtual void async_event(const vroce_async_event& event) = 0;
};

}  // namespace vroce::nic
