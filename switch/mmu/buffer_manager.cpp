// Reserved room first, then shared up to the threshold, then (lossless groups) headroom; given back in the opposite
// order. All arithmetic saturates: thresholds may be above what there is.
#include "switch/mmu/buffer_manager.hpp"

#include <algorithm>
#include <utility>

namespace vroce::sw {
namespace {

std::uint64_t minus(std::uint64_t a, std::uint64_t b) {
    return a > b ? a - b : 0;
}

void raise(std::uint64_t& watermark, std::uint64_t value) {
    watermark = std::max(watermark, value);
}

/// Charged to the same.
bool alike(const Meta& a, const Meta& b) {
    return a.in_port == b.in_port && a.priority == b.priority && a.out_port == b.out_port && a.queue == b.queue &&
           a.charge_holders == b.charge_holders;
}

}  // namespace

std::uint64_t Threshold::limit_bytes(std::uint64_t pool_free_bytes) const {
    if (!alpha_exponent) return static_bytes;
    return *alpha_exponent >= 0 ? pool_free_bytes << *alpha_exponent : pool_free_bytes >> -*alpha_exponent;
}

BufferManager::BufferManager(BufferLimits limits)
    : limits_(std::move(limits)), ports_(limits_.ports.size()), shares_(kShares) {
    for (std::size_t i = 1; i + 1 < kShares; ++i) shares_[i].next = static_cast<std::uint16_t>(i + 1);
    free_share_ = 1;
    assign_pools();
}

void BufferManager::apply(BufferLimits limits) {
    limits_ = std::move(limits);
    assign_pools();
    update();
}

/// Pools hold what their users hold. Watermarks begin anew.
void BufferManager::assign_pools() {
    pools_.assign(std::max<std::size_t>(limits_.pools.size(), 1), PoolUse{});
    for (std::size_t p = 0; p < ports_.size(); ++p) {
        for (unsigned g = 0; g < kPriorityGroups; ++g) {
            PriorityGroupUse& use = ports_[p].groups[g];
            const auto& limits = limits_.ports[p].groups[g];
            use.pool = limits ? limits->pool : std::uint8_t{0};
            pools_[use.pool].shared_bytes += use.shared_bytes;
            pools_[use.pool].headroom_bytes += use.headroom_bytes;
        }
        for (unsigned q = 0; q < kQueues; ++q) {
            QueueUse& use = ports_[p].queues[q];
            const auto& limits = limits_.ports[p].queues[q];
            use.pool = limits ? limits->pool : std::uint8_t{0};
            pools_[use.pool].shared_bytes += use.shared_bytes;
        }
    }
    for (PoolUse& pool : pools_) {
        pool.shared_bytes_max = pool.shared_bytes;
        pool.headroom_bytes_max = pool.headroom_bytes;
    }
}

std::uint64_t BufferManager::free_bytes(std::uint8_t pool) const {
    return minus(limits_.pools[pool].shared_bytes, pools_[pool].shared_bytes);
}

std::uint64_t BufferManager::group_limit_bytes(PortId port, unsigned group) const {
    const auto& limits = limits_.ports[port].groups[group];
    return limits ? limits->shared.limit_bytes(free_bytes(limits->pool)) : 0;
}

bool BufferManager::headroom_for(PortId port, std::uint64_t bytes) const {
    for (unsigned groups = ports_[port].congested; groups != 0; groups &= groups - 1) {
        const auto g = static_cast<unsigned>(__builtin_ctz(groups));
        const auto& limits = limits_.ports[port].groups[g];
        if (!limits) continue;
        const std::uint64_t pooled = limits_.pools[limits->pool].headroom_bytes;
        const bool pool_full = pooled != 0 && minus(pooled, pools_[limits->pool].headroom_bytes) < bytes;
        if (pool_full || minus(limits->headroom_bytes, ports_[port].groups[g].headroom_bytes) < bytes) return false;
    }
    return true;
}

Admission BufferManager::admit(Packet& packet) {
    return admit(packet, nullptr);
}

Admission BufferManager::admit_copy(Packet& packet, Packet& first) {
    return admit(packet, &first);
}

Admission BufferManager::admit(Packet& packet, Packet* first) {
    const std::uint32_t bytes = charge_bytes(packet.length);
    if (!may_charge_queue(packet, bytes)) return Admission::kQueueFull;
    packet.meta.charge_bytes = bytes;
    packet.meta.charge_holders = 0;
    packet.meta.charge_share = 0;
    if (first == nullptr || !join_share(packet, *first)) {
        const Admission verdict = charge_group_of(packet, bytes);
        if (verdict != Admission::kAdmitted) return verdict;
    }
    charge_queue_of(packet, bytes);
    return Admission::kAdmitted;
}

bool BufferManager::admit_all(std::span<Packet* const> packets) {
    const Meta& meta = packets.front()->meta;
    const auto& group = limits_.ports[meta.in_port].groups[meta.priority];
    const auto& queue = limits_.ports[meta.out_port].queues[meta.queue];
    if (!group && !queue) return false;
    if (group && queue && group->pool == queue->pool) return false;  // one takes what the other looks at
    std::uint64_t bytes = 0;
    for (const Packet* packet : packets) bytes += charge_bytes(packet->length);
    const std::uint64_t last_bytes = charge_bytes(packets.back()->length);
    PriorityGroupUse& group_use = ports_[meta.in_port].groups[meta.priority];
    QueueUse& queue_use = ports_[meta.out_port].queues[meta.queue];
    if (queue && !queue_takes_all(*queue, queue_use, bytes, last_bytes)) return false;
    if (group && !group_takes_all(*group, group_use, bytes, last_bytes)) return false;
    std::uint16_t holders = 0;
    if (group) {
        static_cast<void>(charge_group(*group, group_use, bytes));
        ports_[meta.in_port].in_use |= static_cast<std::uint8_t>(1u << meta.priority);
        holders |= kHeldByGroup;
    }
    if (queue) {
        charge_queue(*queue, queue_use, bytes);
        holders |= kHeldByQueue;
    }
    for (Packet* packet : packets) {
        packet->meta.charge_bytes = charge_bytes(packet->length);
        packet->meta.charge_holders = holders;
        packet->meta.charge_share = 0;
    }
    return true;
}

/// What the last of them finds is the strictest: the most is taken, and dynamic thresholds are at their lowest.
bool BufferManager::group_takes_all(const PriorityGroupLimits& limits, const PriorityGroupUse& use, std::uint64_t bytes,
                                    std::uint64_t last_bytes) const {
    const std::uint64_t rest = minus(bytes, minus(limits.reserved_bytes, use.reserved_bytes));
    if (rest == 0) return true;
    const std::uint64_t free = free_bytes(limits.pool);
    if (use.headroom_bytes != 0 || rest > free) return false;
    return use.shared_bytes + rest <= limits.shared.limit_bytes(free - minus(rest, last_bytes));
}

bool BufferManager::queue_takes_all(const QueueLimits& limits, const QueueUse& use, std::uint64_t bytes,
                                    std::uint64_t last_bytes) const {
    const std::uint64_t rest = minus(bytes, minus(limits.reserved_bytes, use.reserved_bytes));
    if (rest == 0) return true;
    const std::uint64_t free = free_bytes(limits.pool);
    return rest <= free && use.shared_bytes + rest <= limits.shared.limit_bytes(free - minus(rest, last_bytes));
}

bool BufferManager::may_charge_queue(const Packet& packet, std::uint64_t bytes) const {
    const Meta& meta = packet.meta;
    const auto& limits = limits_.ports[meta.out_port].queues[meta.queue];
    return !limits || queue_takes(*limits, ports_[meta.out_port].queues[meta.queue], bytes);
}

Admission BufferManager::charge_group_of(Packet& packet, std::uint32_t bytes) {
    Meta& meta = packet.meta;
    const auto& limits = limits_.ports[meta.in_port].groups[meta.priority];
    if (!limits) return Admission::kAdmitted;
    Port& port = ports_[meta.in_port];
    const Admission verdict = charge_group(*limits, port.groups[meta.priority], bytes);
    if (verdict != Admission::kAdmitted) return verdict;
    port.in_use |= static_cast<std::uint8_t>(1u << meta.priority);
    meta.charge_holders |= kHeldByGroup;
    return verdict;
}

void BufferManager::charge_queue_of(Packet& packet, std::uint32_t bytes) {
    Meta& meta = packet.meta;
    const auto& limits = limits_.ports[meta.out_port].queues[meta.queue];
    if (!limits) return;
    charge_queue(*limits, ports_[meta.out_port].queues[meta.queue], bytes);
    meta.charge_holders |= kHeldByQueue;
}

/// False when the first copy's group is not charged, or when too many frames have several copies: then each copy is
/// charged for itself.
bool BufferManager::join_share(Packet& packet, Packet& first) {
    if ((first.meta.charge_holders & kHeldByGroup) == 0) return false;
    if (first.meta.charge_share == 0) {
        if (free_share_ == 0) return false;
        first.meta.charge_share = free_share_;
        Share& share = shares_[free_share_];
        free_share_ = share.next;
        share = {.bytes = first.meta.charge_bytes, .copies = 1, .next = 0};
    }
    ++shares_[first.meta.charge_share].copies;
    packet.meta.charge_share = first.meta.charge_share;
    packet.meta.charge_holders |= kHeldByGroup;
    return true;
}

std::uint32_t BufferManager::leave_share(Meta& meta) {
    if (meta.charge_share == 0) return meta.charge_bytes;
    const std::uint16_t index = std::exchange(meta.charge_share, std::uint16_t{0});
    Share& share = shares_[index];
    if (--share.copies != 0) return 0;
    share.next = free_share_;
    free_share_ = index;
    return share.bytes;
}

bool BufferManager::queue_takes(const QueueLimits& limits, const QueueUse& use, std::uint64_t bytes) const {
    const std::uint64_t rest = minus(bytes, minus(limits.reserved_bytes, use.reserved_bytes));
    if (rest == 0) return true;
    const std::uint64_t free = free_bytes(limits.pool);
    return rest <= free && use.shared_bytes + rest <= limits.shared.limit_bytes(free);
}

Admission BufferManager::charge_group(const PriorityGroupLimits& limits, PriorityGroupUse& use, std::uint64_t bytes) {
    PoolUse& pool = pools_[limits.pool];
    const std::uint64_t reserved = std::min(bytes, minus(limits.reserved_bytes, use.reserved_bytes));
    const std::uint64_t rest = bytes - reserved;
    const std::uint64_t free = free_bytes(limits.pool);
    // Headroom in use means that the peer has been told to stop: what comes until it has is headroom's.
    const bool fits = rest == 0 || (use.headroom_bytes == 0 && rest <= free &&
                                    use.shared_bytes + rest <= limits.shared.limit_bytes(free));
    if (fits) {
        use.shared_bytes += rest;
        pool.shared_bytes += rest;
        raise(use.shared_bytes_max, use.shared_bytes);
        raise(pool.shared_bytes_max, pool.shared_bytes);
    } else {
        if (!limits.lossless()) return Admission::kGroupFull;
        const std::uint64_t pooled = limits_.pools[limits.pool].headroom_bytes;
        const bool pool_full = pooled != 0 && pool.headroom_bytes + rest > pooled;
        if (pool_full || use.headroom_bytes + rest > limits.headroom_bytes) return Admission::kHeadroomFull;
        use.headroom_bytes += rest;
        pool.headroom_bytes += rest;
        raise(use.headroom_bytes_max, use.headroom_bytes);
        raise(pool.headroom_bytes_max, pool.headroom_bytes);
    }
    use.reserved_bytes += reserved;
    return Admission::kAdmitted;
}

void BufferManager::charge_queue(const QueueLimits& limits, QueueUse& use, std::uint64_t bytes) {
    const std::uint64_t reserved = std::min(bytes, minus(limits.reserved_bytes, use.reserved_bytes));
    PoolUse& pool = pools_[limits.pool];
    use.reserved_bytes += reserved;
    use.shared_bytes += bytes - reserved;
    pool.shared_bytes += bytes - reserved;
    raise(use.bytes_max, use.bytes());
    raise(pool.shared_bytes_max, pool.shared_bytes);
}

void BufferManager::release(Packet& packet) {
    Meta& meta = packet.meta;
    if (meta.charge_holders == 0) return;
    give_back(meta, (meta.charge_holders & kHeldByGroup) != 0 ? leave_share(meta) : 0, meta.charge_bytes);
    meta.charge_holders = 0;
}

void BufferManager::release_all(std::span<Packet* const> packets) {
    for (std::size_t i = 0; i < packets.size();) {
        const Meta first = packets[i]->meta;
        if (first.charge_share != 0) {
            release(*packets[i++]);
            continue;
        }
        std::uint64_t bytes = 0;
        for (; i < packets.size() && alike(packets[i]->meta, first) && packets[i]->meta.charge_share == 0; ++i) {
            bytes += packets[i]->meta.charge_bytes;
            packets[i]->meta.charge_holders = 0;
        }
        give_back(first, bytes, bytes);
    }
}

void BufferManager::give_back(const Meta& meta, std::uint64_t group_bytes, std::uint64_t queue_bytes) {
    if ((meta.charge_holders & kHeldByGroup) != 0) {
        Port& port = ports_[meta.in_port];
        PriorityGroupUse& use = port.groups[meta.priority];
        release_group(use, group_bytes);
        if (use.bytes() == 0) port.in_use &= static_cast<std::uint8_t>(~(1u << meta.priority));
    }
    if ((meta.charge_holders & kHeldByQueue) != 0) release_queue(ports_[meta.out_port].queues[meta.queue], queue_bytes);
}

void BufferManager::release_group(PriorityGroupUse& use, std::uint64_t bytes) {
    PoolUse& pool = pools_[use.pool];
    const std::uint64_t headroom = std::min(bytes, use.headroom_bytes);
    const std::uint64_t shared = std::min(bytes - headroom, use.shared_bytes);
    use.headroom_bytes -= headroom;
    pool.headroom_bytes -= headroom;
    use.shared_bytes -= shared;
    pool.shared_bytes -= shared;
    use.reserved_bytes -= bytes - headroom - shared;
}

void BufferManager::release_queue(QueueUse& use, std::uint64_t bytes) {
    const std::uint64_t shared = std::min(bytes, use.shared_bytes);
    use.shared_bytes -= shared;
    pools_[use.pool].shared_bytes -= shared;
    use.reserved_bytes -= bytes - shared;
}

bool BufferManager::asks_for_pause(const std::optional<PriorityGroupLimits>& limits,
                                   const PriorityGroupUse& use) const {
    if (!limits || !limits->lossless()) return false;
    if (use.headroom_bytes != 0) return true;
    const std::uint64_t limit = limits->shared.limit_bytes(free_bytes(limits->pool));
    if (!use.congested) return use.shared_bytes != 0 && use.shared_bytes >= limit;
    return use.shared_bytes > std::max(limits->xon_bytes, minus(limit, limits->xon_offset_bytes));
}

void BufferManager::judge(PortId port, unsigned group) {
    PriorityGroupUse& use = ports_[port].groups[group];
    use.congested = asks_for_pause(limits_.ports[port].groups[group], use);
    const auto bit = static_cast<std::uint8_t>(1u << group);
    ports_[port].congested = static_cast<std::uint8_t>((ports_[port].congested & ~bit) | (use.congested ? bit : 0));
}

void BufferManager::update(PortId port) {
    for (unsigned groups = ports_[port].in_use | ports_[port].congested; groups != 0; groups &= groups - 1)
        judge(port, static_cast<unsigned>(__builtin_ctz(groups)));
}

void BufferManager::update() {
    for (std::size_t p = 0; p < ports_.size(); ++p) update(static_cast<PortId>(p));
}

}  // namespace vroce::sw
