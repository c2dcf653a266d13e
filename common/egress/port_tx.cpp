#include "common/egress/port_tx.hpp"

#include <algorithm>

namespace vroce {

namespace {
constexpr int kBurstsPerFlush = 4;
/// How soon a full ring is tried again when nothing else wakes the worker.
constexpr Duration kRingFullRetry = microseconds(20);
}  // namespace

PortTx::~PortTx() {
    discard(last_now_);
}

void PortTx::send_control(Packet* packet) {
    if (!port_->link_up()) {
        ++counters_.control_dropped;
        release(packet);
        return;
    }
    if (control_count_ == kControlMax) {
        ++counters_.control_dropped;
        release(pop_control());
    }
    control_[control_count_++] = packet;
    retry_at_ = Instant{};
}

std::size_t PortTx::flush(Instant now) {
    last_now_ = now;
    if (egress_.backlog_packets() == 0 && staged_count_ == 0 && control_count_ == 0 && !fault_.active()) return 0;
    if (!port_->link_up()) {
        // Frames for a peer that is not there are lost as on a line without light.
        fill(now);
        counters_.link_down += staged_count_;
        counters_.control_dropped += control_count_;
        discard_staged();
        discard_control();
        return 0;
    }
    ring_full_ = false;
    std::size_t sent = drain_control(now);
    for (int burst = 0; burst < kBurstsPerFlush && !ring_full_; ++burst) {
        fill(now);
        if (staged_count_ == 0) break;
        sent += drain();
    }
    if (ring_full_) retry_at_ = now + kRingFullRetry;
    if (sent != 0) port_->ring_doorbell();
    return sent;
}

void PortTx::fill(Instant now) {
    if (fault_.active()) [[unlikely]] {
        fill_through_fault(now);
    } else {
        fill_from_queues(now);
    }
}

void PortTx::fill_from_queues(Instant now) {
    std::array<Departed, kBurst> leaving;
    const std::size_t count = egress_.dequeue(now, {leaving.data(), kBurst - staged_count_});
    for (std::size_t i = 0; i < count; ++i) staged_[staged_count_++] = leaving[i].packet;
    report(now, {leaving.data(), count});
}

void PortTx::fill_through_fault(Instant now) {
    while (staged_count_ < kBurst) {
        Packet* packet = next_through_fault(now);
        if (packet == nullptr) return;
        staged_[staged_count_++] = packet;
    }
}

/// One at a time: what the port cannot take yet waits in the egress queues, not in the injector, which is bounded.
Packet* PortTx::next_through_fault(Instant now) {
    for (;;) {
        if (Packet* due = fault_.pop(now)) return due;
        std::array<Departed, 1> leaving;
        if (egress_.dequeue(now, leaving) == 0) return nullptr;
        report(now, leaving);
        fault_.push(now, leaving[0].packet);
    }
}

void PortTx::report(Instant now, std::span<const Departed> departed) {
    if (departure_hook_ != nullptr && !departed.empty()) departure_hook_(departure_context_, departed, now);
}

std::size_t PortTx::drain_control(Instant now) {
    std::size_t sent = 0;
    while (control_count_ != 0 && !ring_full_) {
        if (!fault_.active()) {
            sent += send_first_control(now);
            continue;
        }
        egress_.take_line(now, control_[0]->length);
        ++counters_.control_packets;
        fault_.push(now, pop_control());
    }
    return sent;
}

std::size_t PortTx::send_first_control(Instant now) {
    const std::uint32_t bytes = control_[0]->length;
    if (tap_ != nullptr && !control_tapped_) tap_(tap_context_, *control_[0]);
    control_tapped_ = true;
    if (port_->send({control_.data(), 1}) == 0) {
        ++counters_.tx_ring_full;
        ring_full_ = true;
        return 0;
    }
    static_cast<void>(pop_control());
    egress_.take_line(now, bytes);
    ++counters_.control_packets;
    ++counters_.tx_packets;
    counters_.tx_bytes += bytes;
    return 1;
}

Packet* PortTx::pop_control() {
    Packet* packet = control_[0];
    std::copy(control_.begin() + 1, control_.begin() + static_cast<std::ptrdiff_t>(control_count_), control_.begin());
    --control_count_;
    control_tapped_ = false;
    return packet;
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
    if (staged_count_ != 0 || control_count_ != 0) return retry_at_;
    return std::min(egress_.next_deadline(), fault_.next_deadline());
}

void PortTx::discard(Instant now) {
    while (Packet* packet = egress_.take_any()) {
        const unsigned queue = egress_.last_queue();
        const Departed leaving{packet, egress_.queue_bytes(queue), queue};
        report(now, {&leaving, 1});
        release(packet);
    }
    discard_staged();
    discard_control();
}

void PortTx::discard_staged() {
    for (std::size_t i = 0; i < staged_count_; ++i) release(staged_[i]);
    staged_count_ = 0;
    tapped_count_ = 0;
}

void PortTx::discard_control() {
    while (control_count_ != 0) release(pop_control());
}

}  // namespace vroce
