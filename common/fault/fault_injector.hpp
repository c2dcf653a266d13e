// A bad link on purpose: drops, corrupts, reorders, duplicates and delays packets as tc netem does, the same way for
// the same seed. A machine without I/O, put in front of a port's transmit or behind its receive.
#pragma once

#include <array>
#include <cstdint>
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
    /// Packets that may be held by delay; beyond it a packet is dropped and counted (HeldFull).
    static constexpr std::size_t kHeldMax = 4'096;
    /// Packets that may wait for others to overtake them; beyond it they are not reordered.
    static constexpr std::size_t kAsideMax = 16;

    explicit FaultInjector(PacketPool& pool) : pool_(&pool) {}
    FaultInjector(const FaultInjector&) = delete;
    FaultInjector& operator=(const FaultInjector&) = delete;
    ~FaultInjector();

    /// New settings hold from the next packet on; what is held leaves when it was due.
    void set(const FaultSettings& settings);
    [[nodiscard]] const FaultSettings& settings() const { return settings_; }
    /// False: the owner may pass packets by without push and pop.
    [[nodiscard]] bool active() const { return active_ || held_count_ != 0 || aside_count_ != 0; }

    void push(Instant now, Packet* packet);
    /// The next packet that is due, or nullptr. The caller owns it. Its meta.time is when it was due.
    [[nodiscard]] Packet* pop(Instant now);
    [[nodiscard]] Instant next_deadline() const;
    [[nodiscard]] const CounterSet<FaultEvent>& counters() const { return counters_; }

private:
    struct Aside {
        Packet* packet;
        std::uint64_t leaves_after;  ///< packets that have left by then
        Instant due;                 ///< or by then, whoever came
    };
    void send_on(Instant now, Packet* packet);
    void hold(Instant due, Packet* packet);
    [[nodiscard]] bool set_aside(Instant now, Packet* packet);
    [[nodiscard]] Packet* pop_aside(Instant now);
    void corrupt(Packet* packet);

    PacketPool* pool_;
    FaultSettings settings_;
    Random random_{1};
    bool active_ = false;
    Packet* head_ = nullptr;  ///< held packets by meta.time, linked by next: nothing is allocated for a packet
    Packet* tail_ = nullptr;
    std::size_t held_count_ = 0;
    std::array<Aside, kAsideMax> aside_{};  ///< a ring, oldest first
    std::size_t aside_first_ = 0;
    std::size_t aside_count_ = 0;
    std::uint64_t left_ = 0;  ///< packets that pop has given out
    CounterSet<FaultEvent> counters_;
};

}  // namespace vroce
