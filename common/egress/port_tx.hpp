// The way out of a process: egress queues, then the bad link (when one is set), then the port. What the port's ring
// does not take is held and counted, never dropped (design D11f). MAC control frames overtake all that waits here.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/egress/egress.hpp"
#include "common/fault/fault_injector.hpp"
#include "common/packet/port.hpp"

namespace vroce {

struct PortTxCounters {
    std::uint64_t tx_packets = 0;  ///< all that the port took, control frames too
    std::uint64_t tx_bytes = 0;
    std::uint64_t tx_ring_full = 0;     ///< bursts of which the port took only a part
    std::uint64_t link_down = 0;        ///< packets dropped because there is no peer, control frames apart
    std::uint64_t control_packets = 0;  ///< control frames given to the port, or to the bad link
    std::uint64_t control_dropped =
        0;  ///< control frames without a peer, or behind too many that the ring does not take
};

class PortTx {
public:
    static constexpr std::size_t kBurst = 32;
    /// Control frames that wait for a full ring. A peer that is stuck would else take the whole pool by refreshes; the
    /// oldest is dropped, since a newer one replaces what it says.
    static constexpr std::size_t kControlMax = 16;

    PortTx(const EgressConfig& config, Port& port, PacketPool& pool) : egress_(config), fault_(pool), port_(&port) {}
    PortTx(const PortTx&) = delete;
    PortTx& operator=(const PortTx&) = delete;
    ~PortTx();

    [[nodiscard]] bool enqueue(Packet* packet, unsigned queue) { return egress_.enqueue(packet, queue); }
    [[nodiscard]] bool enqueue(std::span<Packet* const> packets, unsigned queue) {
        return egress_.enqueue(packets, queue);
    }
    /// A MAC control frame: it goes out with the next flush before all that waits, also what was taken out of the
    /// queues already, whatever is paused, shaped, limited or paced, and takes its time on the line. Takes the packet
    /// in any case. A bad link treats it as any other frame: it may lose or delay it, and what has passed it already
    /// stays before.
    void send_control(Packet* packet);
    /// Releases all that waits here, control frames too.
    void discard(Instant now);
    /// Moves what is due to the port, at most a few bursts. Returns how many packets the port took.
    std::size_t flush(Instant now);
    [[nodiscard]] Instant next_deadline() const;
    /// Bytes that still wait here.
    [[nodiscard]] std::uint64_t backlog_bytes() const { return egress_.backlog_bytes(); }

    Egress& egress() { return egress_; }
    FaultInjector& fault() { return fault_; }
    const Egress& egress() const { return egress_; }
    const FaultInjector& fault() const { return fault_; }
    /// Called with each packet as the port takes it; for captures. May be empty.
    using Tap = void (*)(void* context, const Packet& packet);
    void set_tap(Tap tap, void* context) {
        tap_ = tap;
        tap_context_ = context;
    }
    /// Called once with each packet that leaves the egress queues, before anything else becomes of it: to be sent, lost
    /// without a peer, or discarded, also by the destructor, which the context must therefore outlive. Those that leave
    /// together come together, at most kBurst, in their order. The packets may be changed, not kept. Control frames are
    /// in no queue. May be empty.
    using DepartureHook = void (*)(void* context, std::span<const Departed> departed, Instant now);
    void set_departure_hook(DepartureHook hook, void* context) {
        departure_hook_ = hook;
        departure_context_ = context;
    }
    [[nodiscard]] const PortTxCounters& counters() const { return counters_; }

private:
    void fill(Instant now);
    void fill_from_queues(Instant now);
    void fill_through_fault(Instant now);
    [[nodiscard]] Packet* next_through_fault(Instant now);
    void report(Instant now, std::span<const Departed> departed);
    std::size_t drain_control(Instant now);
    std::size_t drain();
    std::size_t send_first_control(Instant now);
    void discard_staged();
    void discard_control();
    [[nodiscard]] Packet* pop_control();

    Egress egress_;
    FaultInjector fault_;
    Port* port_;
    std::array<Packet*, kBurst> staged_{};
    std::size_t staged_count_ = 0;
    std::size_t tapped_count_ = 0;  ///< of the staged ones, how many the tap has seen
    std::array<Packet*, kControlMax> control_{};
    std::size_t control_count_ = 0;
    bool control_tapped_ = false;  ///< the tap has seen the first of them
    bool ring_full_ = false;
    Instant retry_at_{};
    Instant last_now_{};  ///< of the last flush, for what the destructor discards
    Tap tap_ = nullptr;
    void* tap_context_ = nullptr;
    DepartureHook departure_hook_ = nullptr;
    void* departure_context_ = nullptr;
    PortTxCounters counters_;
};

}  // namespace vroce
