// Taking a QP's entries out of a CQ's ring, when the QP is destroyed or reset.
#pragma once

#include <cstdint>

#include "provider/src/ordering.hpp"
#include "provider/src/queues.hpp"

namespace vroce::provider {

/// Stands in place of the QP slot in an entry that polling skips. Never a slot: those are < VROCE_MAX_QP_SLOTS.
constexpr std::uint32_t kTakenOut = UINT32_MAX;

/// The entries of `qpn` that wait in the ring will not be polled: their work requests are no one's any more. Caller
/// holds the CQ's lock; the NIC writes no further ones.
inline void take_out_entries(CompletionQueue& cq, std::uint32_t qpn) {
    for (std::uint32_t index = cq.consumer; index - cq.consumer <= cq.mask; ++index) {
        vroce_cqe& cqe = cq.ring[index & cq.mask];
        if (!observe_cqe(cqe, cq.phase_of(index))) return;
        if (cqe.qpn == qpn) cqe.qp_slot = kTakenOut;
    }
}

}  // namespace vroce::provider
