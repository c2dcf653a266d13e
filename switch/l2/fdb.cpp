// Linear probing with backward-shift deletion: no tombstones, so a table that has lived long is as fast as a new one.
#include "switch/l2/fdb.hpp"

#include <algorithm>

namespace vroce::sw {
namespace {

std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 31;
    x *= 0x9e37'79b9'7f4a'7c15;
    return x ^ x >> 29;
}

}  // namespace

Fdb::Fdb(std::uint64_t seed, Duration ageing) : slots_(kSlots), seed_(mix(seed + 1)), multiplier_(mix(~seed) | 1) {
    set_ageing(Instant{}, ageing);
}

Fdb::Learnt Fdb::learn(Instant now, std::uint16_t vlan, Mac mac, PortId port) {
    const std::uint64_t key = key_of(vlan, mac);
    if (slots_[last_learnt_].key == key) return refresh(now, last_learnt_, port);
    std::size_t at = home(key);
    for (std::size_t probe = 0; probe < kMaxProbes; ++probe, at = (at + 1) & (kSlots - 1)) {
        Slot& slot = slots_[at];
        if (slot.key == key) {
            last_learnt_ = at;
            return refresh(now, at, port);
        }
        if (slot.key != 0) continue;
        if (!may_add(port)) break;
        slot = {key, tick(now), port};
        account(port, true);
        ++counters_.learnt;
        if (size_ == 1 && ageing_ticks_ != 0) next_slice_ = now + slice_interval_;
        return Learnt::kNew;
    }
    ++counters_.full;
    return Learnt::kFull;
}

Fdb::Learnt Fdb::refresh(Instant now, std::size_t at, PortId port) {
    slots_[at].last_seen = tick(now);
    return slots_[at].port == port ? Learnt::kKnown : move(at, port);
}

PortId Fdb::lookup(Instant now, std::uint16_t vlan, Mac mac) const {
    const std::uint64_t key = key_of(vlan, mac);
    if (slots_[last_found_].key == key) return port_at(now, last_found_);
    std::size_t at = home(key);
    for (std::size_t probe = 0; probe < kMaxProbes; ++probe, at = (at + 1) & (kSlots - 1)) {
        if (slots_[at].key == key) {
            last_found_ = at;
            return port_at(now, at);
        }
        if (slots_[at].key == 0) break;
    }
    return kUnknown;
}

void Fdb::age(Instant now) {
    if (now < next_slice_) return;
    const std::uint32_t now_tick = tick(now);
    const std::size_t first = slice_ * (kSlots / kSlices);
    for (std::size_t at = first; at < first + kSlots / kSlices;) {
        if (slots_[at].key != 0 && expired(slots_[at], now_tick)) {
            remove(at);  // another entry may have come into this slot: look again
            ++counters_.aged;
        } else {
            ++at;
        }
    }
    slice_ = (slice_ + 1) & (kSlices - 1);
    next_slice_ = size_ == 0 ? kNever : now + slice_interval_;
}

Instant Fdb::next_deadline() const {
    return next_slice_;
}

void Fdb::set_ageing(Instant now, Duration ageing) {
    ageing_ticks_ = static_cast<std::uint32_t>(std::min<std::int64_t>(ageing.ps >> kTickShift, 0x7fff'ffff));
    if (ageing.ps > 0 && ageing_ticks_ == 0) ageing_ticks_ = 1;
    // The whole table is swept four times in an ageing time.
    slice_interval_ = std::max(ageing / static_cast<std::int64_t>(4 * kSlices), milliseconds(10));
    next_slice_ = size_ == 0 || ageing_ticks_ == 0 ? kNever : now + slice_interval_;
}

void Fdb::flush_port(PortId port) {
    remove_if([port](const Slot& slot) { return slot.port == port; });
}

void Fdb::flush() {
    remove_if([](const Slot&) { return true; });
}

std::vector<Fdb::Entry> Fdb::entries(Instant now) const {
    std::vector<Entry> found;
    found.reserve(size_);
    const std::uint32_t now_tick = tick(now);
    for (const Slot& slot : slots_) {
        if (slot.key == 0 || expired(slot, now_tick)) continue;
        const Duration age{static_cast<std::int64_t>(now_tick - slot.last_seen) << kTickShift};
        found.push_back({slot.key & kBroadcast, static_cast<std::uint16_t>(slot.key >> 48), slot.port, age});
    }
    return found;
}

bool Fdb::may_add(PortId port) const {
    return port_sizes_[port] < kGuaranteed || shared_used_ < kShared;
}

void Fdb::account(PortId port, bool added) {
    if (added) {
        if (port_sizes_[port]++ >= kGuaranteed) ++shared_used_;
        ++size_;
    } else {
        if (--port_sizes_[port] >= kGuaranteed) --shared_used_;
        --size_;
    }
}

/// The station has moved. If its new port may have no further entry, the old one, which is wrong, goes all the same.
Fdb::Learnt Fdb::move(std::size_t at, PortId port) {
    account(slots_[at].port, false);
    if (may_add(port)) {
        account(port, true);
        slots_[at].port = port;
        ++counters_.moved;
        return Learnt::kMoved;
    }
    account(slots_[at].port, true);
    remove(at);
    ++counters_.full;
    return Learnt::kFull;
}

/// Closes the gap: an entry further on moves back unless that would put it before its home slot.
void Fdb::remove(std::size_t at) {
    account(slots_[at].port, false);
    std::size_t gap = at;
    for (std::size_t next = (at + 1) & (kSlots - 1); slots_[next].key != 0; next = (next + 1) & (kSlots - 1)) {
        const std::size_t distance_home = (next - home(slots_[next].key)) & (kSlots - 1);
        const std::size_t distance_gap = (next - gap) & (kSlots - 1);
        if (distance_home < distance_gap) continue;
        slots_[gap] = slots_[next];
        gap = next;
    }
    slots_[gap] = Slot{};
}

template <typename Predicate>
void Fdb::remove_if(Predicate predicate) {
    for (std::size_t at = 0; at < kSlots;) {
        if (slots_[at].key != 0 && predicate(slots_[at])) {
            remove(at);
        } else {
            ++at;
        }
    }
    if (size_ == 0) next_slice_ = kNever;
}

}  // namespace vroce::sw
