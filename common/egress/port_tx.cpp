#include "common/egress/port_tx.hpp"

#include <algorithm>

namespace vroce {

namespace {
constexpr int kBurstsPerFlush = 4;
/// How soon a full ring is tried again when nothing else wakes the worker.
constexpr Duration kRingFullRetry = microseconds(20);
}  // namespace

PortTx::~PortTx() {
    discard_all();
}

std::size_t PortTx::flush(Instant now) {
    if (egress_.backlog_packets() == 0 && staged_count_ == 0 && !fault_.active()) return 0;
    if (!port_->link_up()) {
        // Frames for a peer that is not there are lost as on a line without light.
        fill(now);
        counters_.link_down += staged_count_;
        for (std::size_t i = 0; i < staged_count_; ++i) release(staged_[i]);
        staged_count_ = 0;
        tapped_count_ = 0;
        return 0;
    }
    std::size_t sent = 0;
    ring_full_ = false;
    for (int burst = 0; burst < kBurstsPerFlush; ++burst) {
        fill(now);
        if (staged_count_ == 0) break;
        sent += drain();
        if (!ring_full_) continue;
        retry_at_ = now + kRingFullRetry;
        break;
    }
    if (sent != 0) port_->ring_doorbell();
    return sent;
}

void PortTx::fill(Instant now) {
    while (staged_count_ < kBurst) {
        Packet* packet = next(now);
        if (packet == nullptr) return;
        staged_[staged_count_++] = packet;
    }
}

Packet* PortTx::next(Instant now) {
    if (!fault_.active()) return egress_.dequeue(now);
    // One at a time: what the port cannot take yet waits in the egress queues, not in the injector, which is bounded.
    for (;;) {
        if (Packet* due = fault_.pop(now)) return due;
        Packet* packet = egress_.dequeue(now);
        if (packet == nullptr) return nullptr;
        fault_.push(now, packet);
    }
}

std::size_t PortTx::drain() {
    for (std::size_t i = 0; i < staged_count_; ++i) {
        counters_.tx_bytes += staged_[i]->length;
        if (tap_ != nullptr && i >= tapped_count_) tap_(tap_context_, *staged_[i]);
    }
    const std::size_t took = port_->send({staged_.data(), staged_count_});
    for (std::size_t i = took; i < staged_count_; ++i) counters_.tx_bytes -= staged_[i]->length;
    counters_.tx_packets += took;
    if (took < staged_count_) {
        ++counters_.tx_ring_full;
        ring_full_ = true;
        std::copy(staged_.begin() + static_cast<std::ptrdiff_t>(took),
                  staged_.begin() + static_cast<std::ptrdiff_t>(staged_count_), staged_.begin());
    }
    staged_count_ -= took;
    tapped_count_ = staged_count_;
    return took;
}

Instant PortTx::next_deadline() const {
    if (staged_count_ != 0) return retry_at_;
    return std::min(egress_.next_deadline(), fault_.next_deadline());
}

void PortTx::discard_all() {
    for (std::size_t i = 0; i < staged_count_; ++i) release(staged_[i]);
    staged_count_ = 0;
}

}  // namespace vroce
