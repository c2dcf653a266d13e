// The forwarding database: which station of a VLAN lives behind which port. An open-addressed table of 512 KiB that
// allocates once, takes time as an argument and never evicts: full is counted, and the frame's source is not learnt.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/time.hpp"
#include "switch/core/limits.hpp"
#include "switch/l2/mac.hpp"

namespace vroce::sw {

class Fdb {
public:
    /// Entries that anyone can have, first come, first served.
    static constexpr std::size_t kShared = 8'192;
    /// Entries that each port can have whatever the others do: a flood of source addresses behind one port never keeps
    /// the stations of another from being learnt.
    static constexpr std::size_t kGuaranteed = 64;
    static constexpr std::size_t kCapacity = kShared + kMaxPorts * kGuaranteed;

    enum class Learnt : std::uint8_t { kKnown, kNew, kMoved, kFull };

    struct Entry {
        Mac mac = 0;
        std::uint16_t vlan = 0;
        PortId port = 0;
        Duration age;
    };

    struct Counters {
        std::uint64_t learnt = 0;
        std::uint64_t moved = 0;
        std::uint64_t aged = 0;
        std::uint64_t full = 0;  ///< not learnt for lack of room
    };

    /// The seed keeps a peer from knowing which addresses collide. Ageing 0 means never.
    explicit Fdb(std::uint64_t seed, Duration ageing = seconds(300));

    void prefetch(std::uint16_t vlan, Mac mac) const {
        const std::uint64_t key = key_of(vlan, mac);
        if (slots_[last_learnt_].key == key || slots_[last_found_].key == key) return;
        __builtin_prefetch(&slots_[home(key)]);
    }

    /// Precondition: mac is unicast and not zero, vlan is 1..4094.
    Learnt learn(Instant now, std::uint16_t vlan, Mac mac, PortId port);

    /// The port behind which the station lives, or kUnknown when it is not known or its entry has aged.
    static constexpr PortId kUnknown = 0xffff;
    PortId lookup(Instant now, std::uint16_t vlan, Mac mac) const;

    /// Removes aged entries, a slice of the table each time it is due; lookups never see an aged entry anyway.
    void age(Instant now);
    /// When age() is next due; kNever while the table is empty or never ages.
    Instant next_deadline() const;

    void set_ageing(Instant now, Duration ageing);
    void flush_port(PortId port);
    void flush();

    std::size_t size() const { return size_; }
    std::size_t size(PortId port) const { return port_sizes_[port]; }
    const Counters& counters() const { return counters_; }
    /// All live entries; for people, not for the packet path.
    std::vector<Entry> entries(Instant now) const;

private:
    static constexpr unsigned kSlotBits = 15;
    static constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;  // load at most 3/8: probes stay short
    static constexpr std::size_t kMaxProbes = 64;
    static constexpr std::size_t kSlices = 64;
    static constexpr unsigned kTickShift = 30;  // a tick is 2^30 ps, about 1.07 ms; 32 bits of it last 53 days

    struct Slot {
        std::uint64_t key = 0;  // vlan << 48 | mac; 0 is empty
        std::uint32_t last_seen = 0;
        PortId port = 0;
    };
    static_assert(sizeof(Slot) == 16);
    static_assert(kSlots * sizeof(Slot) < 1'048'576);

    static std::uint64_t key_of(std::uint16_t vlan, Mac mac) { return std::uint64_t{vlan} << 48 | mac; }
    static std::uint32_t tick(Instant now) { return static_cast<std::uint32_t>(now.ps >> kTickShift); }

    /// Two rounds: one multiplication alone leaves addresses that count up in clumps.
    std::size_t home(std::uint64_t key) const {
        const auto product = static_cast<unsigned __int128>(key ^ seed_) * multiplier_;
        const auto folded = static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
        return ((folded ^ folded >> 32) * 0x9e37'79b9'7f4a'7c15) >> (64 - kSlotBits);
    }
    bool expired(const Slot& slot, std::uint32_t now_tick) const {
        return ageing_ticks_ != 0 && now_tick - slot.last_seen >= ageing_ticks_;
    }
    Learnt refresh(Instant now, std::size_t at, PortId port);
    PortId port_at(Instant now, std::size_t at) const {
        return expired(slots_[at], tick(now)) ? kUnknown : slots_[at].port;
    }
    bool may_add(PortId port) const;
    void account(PortId port, bool added);
    Learnt move(std::size_t at, PortId port);
    void remove(std::size_t at);
    template <typename Predicate>
    void remove_if(Predicate predicate);

    std::vector<Slot> slots_;
    // Where the last address was, which is mostly the next frame's too: then nothing needs to be hashed.
    std::size_t last_learnt_ = 0;
    mutable std::size_t last_found_ = 0;
    std::uint64_t seed_;
    std::uint64_t multiplier_;
    std::uint32_t ageing_ticks_ = 0;
    Duration slice_interval_;
    Instant next_slice_ = kNever;
    std::size_t slice_ = 0;
    std::size_t size_ = 0;
    std::size_t shared_used_ = 0;  // entries beyond their port's guarantee
    std::array<std::size_t, kMaxPorts> port_sizes_{};
    Counters counters_;
};

}  // namespace vroce::sw
