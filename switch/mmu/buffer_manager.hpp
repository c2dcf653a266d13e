// The ledger of the switch's buffer: every frame that waits is charged to the priority group that it came by and to the
// queue that it leaves by; what admission charged, release gives back to the byte. It says which priority groups ask
// their peers to pause, and refuses what no pause could have kept away.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/packet/packet.hpp"
#include "switch/core/limits.hpp"
#include "switch/mmu/limits.hpp"

namespace vroce::sw {

enum class Admission : std::uint8_t {
    kAdmitted,
    kGroupFull,     ///< a lossy priority group is at its threshold
    kHeadroomFull,  ///< a lossless one is, and its headroom or the headroom pool is too: the peer did not obey
    kQueueFull,     ///< the egress queue is at its threshold
};

/// Use of one priority group, in bytes of whole cells.
struct PriorityGroupUse {
    std::uint8_t pool = 0;
    std::uint64_t reserved_bytes = 0;
    std::uint64_t shared_bytes = 0;
    std::uint64_t headroom_bytes = 0;
    std::uint64_t shared_bytes_max = 0;  ///< watermarks
    std::uint64_t headroom_bytes_max = 0;
    bool congested = false;  ///< between XOFF and XON, as of the last update()

    [[nodiscard]] std::uint64_t bytes() const { return reserved_bytes + shared_bytes + headroom_bytes; }
};

struct QueueUse {
    std::uint8_t pool = 0;
    std::uint64_t reserved_bytes = 0;
    std::uint64_t shared_bytes = 0;
    std::uint64_t bytes_max = 0;

    [[nodiscard]] std::uint64_t bytes() const { return reserved_bytes + shared_bytes; }
};

struct PoolUse {
    std::uint64_t shared_bytes = 0;
    std::uint64_t headroom_bytes = 0;
    std::uint64_t shared_bytes_max = 0;
    std::uint64_t headroom_bytes_max = 0;
};

class BufferManager {
public:
    explicit BufferManager(BufferLimits limits);

    /// New limits for live traffic, of the same ports; what is charged stays charged, now to the new pools.
    void apply(BufferLimits limits);

    /// Charges the frame (meta: in_port, priority as its group, out_port, queue; its length) or refuses it whole.
    [[nodiscard]] Admission admit(Packet& packet);
    /// The same for another copy of a frame of which `first` has been admitted: the priority group is not charged
    /// again, and the last copy that is released gives its charge back (design D3).
    [[nodiscard]] Admission admit_copy(Packet& packet, Packet& first);
    /// The same for single frames that have all of that meta in common, if all of them would be admitted one after the
    /// other. False: nothing is charged, and they are to be admitted one by one; also where nobody is charged.
    [[nodiscard]] bool admit_all(std::span<Packet* const> packets);
    /// Gives back what admit() charged. A frame that was never charged has nothing to give back.
    void release(Packet& packet);
    /// The same for any frames, faster where neighbours have that meta in common.
    void release_all(std::span<Packet* const> packets);

    /// Bit g: priority group g of the port asks for pause. As of the last update().
    [[nodiscard]] std::uint8_t congested_groups(PortId port) const { return ports_[port].congested; }
    /// Looks at the port's groups that hold something or are congested. Not with each frame: to be called when the use
    /// is at its highest and at its lowest of an iteration, since XOFF and XON depend on the way between them. Dynamic
    /// thresholds move with the use of others as well.
    void update(PortId port);
    /// Of all ports.
    void update();

    [[nodiscard]] const PriorityGroupUse& group(PortId port, unsigned group) const {
        return ports_[port].groups[group];
    }
    [[nodiscard]] const QueueUse& queue(PortId port, unsigned queue) const { return ports_[port].queues[queue]; }
    [[nodiscard]] const PoolUse& pool(std::size_t pool) const { return pools_[pool]; }
    [[nodiscard]] const BufferLimits& limits() const { return limits_; }
    /// True when every lossless group of the port that is in headroom has room for so many more bytes there.
    [[nodiscard]] bool headroom_for(PortId port, std::uint64_t bytes) const;
    /// What a group may use of the shared room at this moment.
    [[nodiscard]] std::uint64_t group_limit_bytes(PortId port, unsigned group) const;
    /// What a frame of this length takes: with its FCS, in whole cells.
    [[nodiscard]] std::uint32_t charge_bytes(std::uint32_t frame_bytes) const {
        return (frame_bytes + kFcsBytes + limits_.cell_bytes - 1) & ~(limits_.cell_bytes - 1);
    }

private:
    static constexpr std::uint32_t kFcsBytes = 4;
    static constexpr std::uint16_t kHeldByGroup = 1;  // Meta::charge_holders
    static constexpr std::uint16_t kHeldByQueue = 2;
    static constexpr std::size_t kShares = 4'096;

    /// A group's charge for several copies. Free ones are linked by `next`.
    struct Share {
        std::uint32_t bytes = 0;
        std::uint16_t copies = 0;
        std::uint16_t next = 0;
    };

    struct Port {
        std::array<PriorityGroupUse, kPriorityGroups> groups;
        std::array<QueueUse, kQueues> queues;
        std::uint8_t congested = 0;  ///< bit g
        std::uint8_t in_use = 0;     ///< bit g: holds bytes
    };

    [[nodiscard]] std::uint64_t free_bytes(std::uint8_t pool) const;
    [[nodiscard]] bool queue_takes(const QueueLimits& limits, const QueueUse& use, std::uint64_t bytes) const;
    [[nodiscard]] Admission charge_group(const PriorityGroupLimits& limits, PriorityGroupUse& use, std::uint64_t bytes);
    void charge_queue(const QueueLimits& limits, QueueUse& use, std::uint64_t bytes);
    void release_group(PriorityGroupUse& use, std::uint64_t bytes);
    void release_queue(QueueUse& use, std::uint64_t bytes);
    [[nodiscard]] bool group_takes_all(const PriorityGroupLimits& limits, const PriorityGroupUse& use,
                                       std::uint64_t bytes, std::uint64_t last_bytes) const;
    [[nodiscard]] bool queue_takes_all(const QueueLimits& limits, const QueueUse& use, std::uint64_t bytes,
                                       std::uint64_t last_bytes) const;
    /// Of those holders that `meta` names.
    void give_back(const Meta& meta, std::uint64_t group_bytes, std::uint64_t queue_bytes);
    [[nodiscard]] Admission admit(Packet& packet, Packet* first);
    [[nodiscard]] bool may_charge_queue(const Packet& packet, std::uint64_t bytes) const;
    [[nodiscard]] Admission charge_group_of(Packet& packet, std::uint32_t bytes);
    void charge_queue_of(Packet& packet, std::uint32_t bytes);
    [[nodiscard]] bool join_share(Packet& packet, Packet& first);
    /// What the group gets back for a copy that leaves: nothing while others stay.
    [[nodiscard]] std::uint32_t leave_share(Meta& meta);
    void assign_pools();
    [[nodiscard]] bool asks_for_pause(const std::optional<PriorityGroupLimits>& limits,
                                      const PriorityGroupUse& use) const;
    void judge(PortId port, unsigned group);

    BufferLimits limits_;
    std::vector<PoolUse> pools_;
    std::vector<Port> ports_;
    std::vector<Share> shares_;  ///< [0] is nobody's
    std::uint16_t free_share_ = 0;
};

}  // namespace vroce::sw
