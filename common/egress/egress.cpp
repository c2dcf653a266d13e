#include "common/egress/egress.hpp"

#include <algorithm>
#include <bit>

namespace vroce {

namespace {
constexpr std::uint64_t line_bytes(std::uint32_t frame_bytes) {
    return std::uint64_t{frame_bytes} + kLineOverheadBytes;
}
constexpr unsigned lowest(unsigned mask) {
    return static_cast<unsigned>(std::countr_zero(mask));
}
constexpr unsigned highest(unsigned mask) {
    return static_cast<unsigned>(std::bit_width(mask)) - 1;
}
}  // namespace

Egress::Egress(const EgressConfig& config) : config_(config), speed_(config.speed_bps) {
    set_schedule(config.schedule);
}

Egress::~Egress() {
    while (Packet* packet = take_any()) release(packet);
}

void Egress::set_schedule(const PortSchedule& schedule) {
    if ((eligible() & ~shaped_) == 0) was_idle_ = true;
    config_.schedule = schedule;
    dwrr_.set_weights(schedule);
    strict_ = 0;
    shaped_ = 0;
    for (unsigned q = 0; q < kQueues; ++q) {
        if (schedule[q].discipline == QueueDiscipline::kStrict) strict_ |= 1u << q;
        if (schedule[q].max_rate_bps == 0) {
            shapers_[q] = Shaper{};
            continue;
        }
        shaped_ |= 1u << q;
        shapers_[q].set(schedule[q].max_rate_bps, schedule[q].burst_bytes);
        refresh_ready(q);
    }
}

bool Egress::enqueue(std::span<Packet* const> packets, unsigned queue) {
    const unsigned index = queue % kQueues;
    QueueCounters& counters = queue_counters_[index];
    std::uint64_t bytes = 0;
    for (const Packet* packet : packets) bytes += packet->length;
    if (backlog_bytes_ + bytes > config_.limit_bytes) {
        counters_.refused += packets.size();
        counters.refused += packets.size();
        return false;
    }
    Queue& q = queues_[index];
    for (std::size_t i = 1; i < packets.size(); ++i) packets[i - 1]->next = packets[i];
    packets.back()->next = nullptr;
    const bool was_empty = q.head == nullptr;
    // Queues that are paused or wait for their shapers leave the line idle as empty ones do.
    if (was_empty && (eligible() & ~shaped_) == 0) was_idle_ = true;
    if (was_empty)
        q.head = packets.front();
    else
        q.tail->next = packets.front();
    q.tail = packets.back();
    occupied_ |= 1u << index;
    q.bytes += bytes;
    q.packets += packets.size();
    backlog_bytes_ += bytes;
    backlog_packets_ += packets.size();
    if (was_empty) refresh_ready(index);
    counters.backlog_bytes_max = std::max(counters.backlog_bytes_max, q.bytes);
    counters_.backlog_bytes_max = std::max(counters_.backlog_bytes_max, backlog_bytes_);
    return true;
}

void Egress::set_paused(Instant now, std::uint8_t mask) {
    if (mask == paused_) return;
    const bool was_stopped = occupied_ != 0 && eligible() == 0;
    resume(now, paused_ & ~mask);
    for (unsigned begins = mask & ~paused_; begins != 0; begins &= begins - 1) paused_since_[lowest(begins)] = now;
    paused_ = mask;
    if (was_stopped) wire_free_at_ = std::max(wire_free_at_, now);
}

std::size_t Egress::paused_packets() const {
    std::size_t packets = 0;
    for (unsigned rest = occupied_ & paused_; rest != 0; rest &= rest - 1) packets += queues_[lowest(rest)].packets;
    return packets;
}

void Egress::resume(Instant now, unsigned queues) {
    for (unsigned ends = queues & shaped_; ends != 0; ends &= ends - 1) {
        const unsigned q = lowest(ends);
        shapers_[q].stood_still(paused_since_[q], now);
        refresh_ready(q);
    }
}

void Egress::refresh_ready(unsigned queue) {
    Queue& q = queues_[queue];
    if ((shaped_ >> queue & 1) != 0 && q.head != nullptr)
        q.ready_at = shapers_[queue].ready_at(line_bytes(q.head->length));
}

unsigned Egress::ready(Instant now) const {
    unsigned candidates = eligible();
    for (unsigned rest = candidates & shaped_; rest != 0; rest &= rest - 1)
        if (queues_[lowest(rest)].ready_at > now) candidates &= ~(rest & -rest);
    return candidates;
}

Instant Egress::earliest_ready() const {
    Instant earliest = kNever;
    for (unsigned rest = eligible(); rest != 0; rest &= rest - 1)
        earliest = std::min(earliest, queues_[lowest(rest)].ready_at);
    return earliest;
}

Instant Egress::next_deadline() const {
    if (eligible() == 0) return kNever;
    if ((eligible() & ~shaped_) != 0) return wire_free_at_;
    return std::max(wire_free_at_, earliest_ready());
}

// The steps of dequeue, for each packet: inline, since the compiler would else call them.

inline unsigned Egress::choose(unsigned candidates) const {
    const unsigned strict = candidates & strict_;
    return strict != 0 ? highest(strict) : dwrr_.pick(candidates);
}

inline Packet* Egress::pop(unsigned queue) {
    Queue& q = queues_[queue];
    Packet* packet = q.head;
    q.head = packet->next;
    packet->next = nullptr;
    if (q.head == nullptr) occupied_ &= ~(1u << queue);
    q.bytes -= packet->length;
    --q.packets;
    backlog_bytes_ -= packet->length;
    --backlog_packets_;
    last_queue_ = queue;
    return packet;
}

inline void Egress::occupy_line(Instant now, std::uint32_t frame_bytes) {
    if (speed_.bps() == 0) return;
    // An idle port may start at most idle_credit in the past, a backlogged one catches up on what its worker missed.
    const Instant earliest = now - (was_idle_ ? config_.idle_credit : config_.catch_up);
    was_idle_ = false;
    if (wire_free_at_ < earliest) {
        wire_free_at_ = earliest;
        wire_fraction_q32_ = 0;
    }
    speed_.advance(wire_free_at_, wire_fraction_q32_, line_bytes(frame_bytes));
}

inline void Egress::charge(Instant now, unsigned queue, std::uint32_t frame_bytes) {
    occupy_line(now, frame_bytes);
    if ((strict_ >> queue & 1) == 0) dwrr_.charge(queue, line_bytes(frame_bytes));
    if ((shaped_ >> queue & 1) == 0) return;
    shapers_[queue].take(now, line_bytes(frame_bytes));
    refresh_ready(queue);
}

inline void Egress::count(Instant now, unsigned queue, const Packet& packet) {
    ++counters_.packets;
    counters_.bytes += packet.length;
    QueueCounters& counters = queue_counters_[queue];
    ++counters.packets;
    counters.bytes += packet.length;
    if (packet.meta.time.ps > 0 && packet.meta.time <= now) counters.delay.add(now - packet.meta.time);
}

Packet* Egress::take_any() {
    if (occupied_ == 0) return nullptr;
    const unsigned queue = highest(occupied_);
    Packet* packet = pop(queue);
    refresh_ready(queue);
    return packet;
}

Packet* Egress::dequeue(Instant now) {
    if (wire_free_at_ > now) return nullptr;
    const unsigned candidates = ready(now);
    if (candidates == 0) return nullptr;
    // While all waited for their shapers the line was idle: there is nothing to catch up on before the first was ready.
    if ((eligible() & ~shaped_) == 0) wire_free_at_ = std::max(wire_free_at_, earliest_ready());
    const unsigned queue = choose(candidates);
    Packet* packet = pop(queue);
    charge(now, queue, packet->length);
    count(now, queue, *packet);
    return packet;
}

std::size_t Egress::dequeue(Instant now, std::span<Departed> out) {
    std::size_t count = 0;
    while (count < out.size()) {
        Packet* packet = dequeue(now);
        if (packet == nullptr) break;
        out[count++] = {packet, queues_[last_queue_].bytes, last_queue_};
    }
    return count;
}

void Egress::take_line(Instant now, std::uint32_t frame_bytes) {
    if ((eligible() & ~shaped_) == 0) was_idle_ = true;
    occupy_line(now, frame_bytes);
}

}  // namespace vroce
