// A bad link on purpose: drops, corrupts, reorders, duplicates and delays packets as tc netem does, the same way for
// the same seed. A machine without I/O, put in front of a port's transmit or behind its receive.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "common/base/random.hpp"
#include "common/base/time.hpp"
#include "common/counters/counter_set.hpp"
#include "common/fault/fault_settings.hpp"
#include "common/packet/packet.hpp"

namespace vroce {

enum class FaultEvent : std::uint8_t { Dropped, Corrupted, Reordered, Duplicated, Delayed, NoBuffer, HeldFull, Count };
std::string_view label(FaultEvent event);

class FaultInjector {
public:
    /// Packets that may be held by delay and reordering; beyond it a packet is dropped and counted (HeldFull).
    static constexpr std::size_t kHeldMax = 4'096;

    explicit FaultInjector(PacketPool& pool) : pool_(&pool) {}
    FaultInjector(const FaultInjector&) = delete;
    FaultInjector& operator=(const FaultInjector&) = delete;
    ~FaultInjector();

    /// New settings hold from the next packet on; what is held leaves when it was due.
    void set(const FaultSettings& settings);
    [[nodiscard]] const FaultSettings& settings() const { return settings_; }
    /// False: the owner may pass packets by without push and pop.
    [[nodiscard]] bool active() const { return active_ || !held_.empty(); }

    void push(Instant now, Packet* packet);
    /// The next packet that is due, or nullptr. The caller owns it.
    [[nodiscard]] Packet* pop(Instant now);
    [[nodiscard]] Instant next_deadline() const { return held_.empty() ? kNever : held_.front().due; }
    [[nodiscard]] const CounterSet<FaultEvent>& counters() const { return counters_; }

private:
    struct Held {
        Instant due;
        Packet* packet;
    };
    void hold(Instant due, Packet* packet);
    void corrupt(Packet* packet);

    PacketPool* pool_;
    FaultSettings settings_;
    Random random_{1};
    bool active_ = false;
    std::deque<Held> held_;  ///< by due time
    CounterSet<FaultEvent> counters_;
};

}  // namespace vroce
