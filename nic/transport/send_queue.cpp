// The send queue's bookkeeping.
#include "nic/transport/send_queue.hpp"

#include <algorithm>

#include "nic/transport/segmentation.hpp"

namespace vroce::nic {
namespace {

WcOpcode completion_opcode(WrOpcode opcode) {
    switch (opcode) {
        case WrOpcode::Write:
        case WrOpcode::WriteImm:
            return WcOpcode::RdmaWrite;
        case WrOpcode::Send:
        case WrOpcode::SendImm:
            return WcOpcode::Send;
        case WrOpcode::Read:
            return WcOpcode::RdmaRead;
    }
    return WcOpcode::Send;
}

constexpr std::uint32_t kLongestReadPart = 1U << 22;  // PSNs; well inside the 2^23 that may be outstanding

}  // namespace

void SendQueue::reset() {
    clear();
    fetch_index_ = 0;
}

void SendQueue::clear() {
    while (head_ != nullptr) pop_oldest();
    cursor_ = nullptr;
    reads_outstanding_ = reads_incomplete_ = 0;
    in_flight_bytes_ = 0;
    qp_.core.port_window.drop(charge_);
    una_ = next_ = highest_ = allocated_;
}

SendItem* SendQueue::current(bool may_fetch) {
    if (cursor_ == nullptr && may_fetch) cursor_ = fetch();
    return cursor_;
}

SendItem* SendQueue::fetch() {
    if (qp_.limits.send_slots != 0 && items_ >= qp_.limits.send_slots) return nullptr;  // more than the ring can hold
    SendWqe wqe;
    bool valid = true;
    if (!qp_.env.fetch_send(fetch_index_, wqe, valid)) return nullptr;
    SendItem* item = qp_.core.send_items.take();
    item->wqe = wqe;
    ++fetch_index_;
    ++items_;
    (head_ == nullptr ? head_ : tail_->next) = item;
    tail_ = item;
    item->first = allocated_;
    if (!valid) {
        qp_.count(EngineCounter::BadSendWqes);
        item->error = WcStatus::LocQpOpErr;
        item->reason = VendorError::InvalidWqe;
        item->wqe.length = 0;
        item->packets = 1;
    } else {
        item->packets = packet_count(wqe.length, qp_.mtu());
        if (item->is_read()) ++reads_incomplete_;
    }
    allocated_ += item->packets;
    return item;
}

std::uint32_t SendQueue::read_part(const SendItem& item) const {
    const std::uint64_t window = qp_.core.config.qp_window_bytes;
    const std::uint64_t limit =
        item.wqe.length <= window ? item.packets : std::max<std::uint64_t>(1, window / 2 / qp_.mtu());
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, kLongestReadPart));
}

std::uint32_t SendQueue::parts_outstanding(const SendItem& item) const {
    if (item.requested <= item.received) return 0;
    const std::uint32_t part = read_part(item);
    return (item.requested + part - 1) / part - item.received / part;
}

void SendQueue::sent(Instant now, SendItem& item, std::uint32_t count) {
    const std::uint32_t at = index(item);
    const std::uint64_t cost = window_cost(item.wqe.length, qp_.mtu(), at, count);
    in_flight_bytes_ += cost;
    qp_.core.port_window.take(now, charge_, cost);
    if (item.is_read()) {
        reads_outstanding_ -= parts_outstanding(item);
        item.requested = at + count;
        reads_outstanding_ += parts_outstanding(item);
    }
    item.started = true;
    next_ += count;
    if (distance(highest_, next_) > 0)
        highest_ = next_;
    else
        qp_.count(EngineCounter::Retransmits);
    if (at + count == item.packets) cursor_ = item.next;
}

bool SendQueue::acknowledge(Instant now, Psn to) {
    while (una_ != to) {
        const SendItem& item = *head_;
        if (item.is_read() || item.error != WcStatus::Success || qp_.fault) return false;
        const std::uint32_t at = steps(item.first, una_);
        advance_una(now, item, at, std::min(item.packets - at, steps(una_, to)));
    }
    return true;
}

void SendQueue::read_landed(Instant now, std::uint32_t count) {
    SendItem& item = *head_;
    reads_outstanding_ -= parts_outstanding(item);
    item.received += count;
    item.requested = std::max(item.requested, item.received);
    reads_outstanding_ += parts_outstanding(item);
    advance_una(now, item, item.received - count, count);
}

void SendQueue::advance_una(Instant now, const SendItem& item, std::uint32_t at, std::uint32_t count) {
    // What lies behind `next` was taken off the windows by the rewind.
    const std::uint32_t counted = std::min(count, steps(una_, next_));
    release_window(now, window_cost(item.wqe.length, qp_.mtu(), at, counted));
    una_ += count;
    if (counted < count) {
        next_ = una_;
        cursor_ = head_;
    }
    if (at + count < item.packets) return;
    if (counted < count) cursor_ = head_->next;
    if ((item.wqe.flags & kSendSignaled) != 0 || qp_.limits.signal_all)
        complete(item, WcStatus::Success, VendorError::None);
    pop_oldest();
}

void SendQueue::rewind() {
    for (SendItem* item = head_; item != nullptr && item != cursor_; item = item->next)
        item->requested = item->received;
    if (cursor_ != nullptr) cursor_->requested = cursor_->received;
    reads_outstanding_ = 0;
    in_flight_bytes_ = 0;
    qp_.core.port_window.drop(charge_);
    next_ = una_;
    cursor_ = head_;
}

void SendQueue::release_window(Instant now, std::uint64_t bytes) {
    in_flight_bytes_ -= bytes;
    qp_.core.port_window.give_back(now, charge_, bytes);
}

void SendQueue::complete(const SendItem& item, WcStatus status, VendorError reason) {
    qp_.complete({.wr_id = item.wqe.wr_id,
                  .wqe_index = item.wqe.index,
                  .byte_len = static_cast<std::uint32_t>(item.wqe.length),
                  .vendor_err = static_cast<std::uint32_t>(reason),
                  .status = status,
                  .opcode = completion_opcode(item.wqe.opcode)});
}

void SendQueue::pop_oldest() {
    SendItem* item = head_;
    if (item->is_read() && item->reason != VendorError::InvalidWqe) --reads_incomplete_;
    head_ = item->next;
    --items_;
    qp_.core.send_items.put(item);
}

void SendQueue::fail_oldest(WcStatus status, VendorError reason) {
    complete(*head_, status, reason);
    pop_oldest();
    qp_.fault = true;
}

void SendQueue::flush() {
    for (SendItem* item = head_; item != nullptr; item = item->next)
        complete(*item, WcStatus::WrFlushErr, VendorError::Flushed);
    clear();
    // At most one ring's worth: who goes on posting rings the doorbell again.
    for (std::uint32_t n = 0; qp_.limits.send_slots == 0 || n < qp_.limits.send_slots; ++n) {
        SendItem item;
        bool valid = true;
        if (!qp_.env.fetch_send(fetch_index_, item.wqe, valid)) return;
        ++fetch_index_;
        complete(item, WcStatus::WrFlushErr, VendorError::Flushed);
    }
}

}  // namespace vroce::nic
