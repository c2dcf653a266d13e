#include "common/egress/egress.hpp"

#include <algorithm>
#include <bit>

namespace vroce {

Egress::~Egress() {
    paused_ = 0;
    while (Packet* packet = pop_next()) release(packet);
}

bool Egress::enqueue(Packet* packet, unsigned queue) {
    if (backlog_bytes_ + packet->length > config_.limit_bytes) {
        ++counters_.refused;
        return false;
    }
    if (backlog_packets_ == 0) was_idle_ = true;
    Queue& q = queues_[queue % kQueues];
    packet->next = nullptr;
    if (q.head == nullptr)
        q.head = packet;
    else
        q.tail->next = packet;
    q.tail = packet;
    occupied_ |= 1u << (queue % kQueues);
    backlog_bytes_ += packet->length;
    ++backlog_packets_;
    counters_.backlog_bytes_max = std::max(counters_.backlog_bytes_max, backlog_bytes_);
    return true;
}

void Egress::set_paused(Instant now, std::uint8_t mask) {
    const bool was_stopped = occupied_ != 0 && eligible() == 0;
    paused_ = mask;
    if (was_stopped) wire_free_at_ = std::max(wire_free_at_, now);
}

Packet* Egress::pop_next() {
    if (eligible() == 0) return nullptr;
    // Strict by queue number until the scheduler has weights; with one class in use this is first in, first out.
    const unsigned index = static_cast<unsigned>(std::bit_width(eligible())) - 1;
    Queue& q = queues_[index];
    Packet* packet = q.head;
    q.head = packet->next;
    packet->next = nullptr;
    if (q.head == nullptr) occupied_ &= ~(1u << index);
    backlog_bytes_ -= packet->length;
    --backlog_packets_;
    return packet;
}

Packet* Egress::dequeue(Instant now) {
    if (eligible() == 0 || wire_free_at_ > now) return nullptr;
    Packet* packet = pop_next();
    if (config_.speed_bps != 0) occupy_line(now, packet->length);
    ++counters_.packets;
    counters_.bytes += packet->length;
    return packet;
}

void Egress::occupy_line(Instant now, std::uint32_t frame_bytes) {
    // An idle port may start at most idle_credit in the past, a backlogged one catches up on what its worker missed.
    const Duration credit = was_idle_ ? config_.idle_credit : config_.catch_up;
    was_idle_ = false;
    wire_free_at_ = std::max(wire_free_at_, now - credit);
    const std::uint64_t bits = (std::uint64_t{frame_bytes} + kLineOverheadBytes) * 8;
    wire_free_at_ += picoseconds(static_cast<std::int64_t>(bits * 1'000'000'000'000u / config_.speed_bps));
}

}  // namespace vroce
