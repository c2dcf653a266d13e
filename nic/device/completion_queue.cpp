#include "nic/device/completion_queue.hpp"

#include "nic/device/shared.hpp"

namespace vroce::nic {

bool CompletionQueue::push(const Completion& completion, std::uint32_t qpn, std::uint32_t qp_slot,
                           std::uint64_t timestamp_ns) {
    // A consumer index that lies costs its own application entries, and nobody else anything.
    if (overflowed_ || head_ - observe_index(ring_.control->consumer) >= ring_.slots) {
        overflow();
        return false;
    }
    vroce_cqe& entry = ring_.entries[head_ & (ring_.slots - 1)];
    entry.wr_id = completion.wr_id;
    entry.timestamp_ns = timestamp_ns;
    entry.qpn = qpn;
    entry.qp_slot = qp_slot;
    entry.wqe_index = completion.wqe_index;
    entry.byte_len = completion.byte_len;
    entry.imm = completion.imm;
    entry.src_qpn = 0;
    entry.vendor_err = completion.vendor_err;
    entry.status = static_cast<std::uint8_t>(completion.status);
    entry.opcode = static_cast<std::uint8_t>(completion.opcode);
    unsigned flags = 0;
    if (completion.with_imm) flags |= VROCE_WC_WITH_IMM;
    if (completion.solicited) flags |= VROCE_WC_SOLICITED;
    if (completion.receive) flags |= VROCE_WC_RECV;
    entry.flags = static_cast<std::uint8_t>(flags);
    entry.sl = 0;
    publish_index(entry.phase, head_ / ring_.slots + 1);
    ++head_;
    counters_->add(DeviceCounter::Completions);
    // An error is always solicited (IBTA 11.4.2.2).
    if (channel_ != kNoChannel) notify(completion.solicited || completion.status != WcStatus::Success);
    return true;
}

void CompletionQueue::overflow() {
    if (overflowed_) return;
    overflowed_ = true;
    ++async_events_;
    counters_->add(DeviceCounter::CompletionQueueOverflows);
    counters_->add(DeviceCounter::AsyncEvents);
    events_->async_event({user_handle_, static_cast<std::uint32_t>(AsyncEventType::CqErr), 0});
}

void CompletionQueue::notify(bool solicited) {
    if (!take_arm(ring_.control->armed, solicited)) return;
    ++comp_events_;
    counters_->add(DeviceCounter::CompletionEvents);
    events_->comp_event(channel_, user_handle_);
}

}  // namespace vroce::nic
