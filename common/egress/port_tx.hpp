// The way out of a process: egress queues, then the bad link (when one is set), then the port. What the port's ring
// does not take is held and counted, never dropped (design D11f).
#pragma once

#include <array>
#include <cstdint>

#include "common/egress/egress.hpp"
#include "common/fault/fault_injector.hpp"
#include "common/packet/port.hpp"

namespace vroce {

struct PortTxCounters {
    std::uint64_t tx_packets = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t tx_ring_full = 0;  ///< bursts of which the port took only a part
    std::uint64_t link_down = 0;     ///< packets dropped because there is no peer
};

class PortTx {
public:
    static constexpr std::size_t kBurst = 32;

    PortTx(const EgressConfig& config, Port& port, PacketPool& pool) : egress_(config), fault_(pool), port_(&port) {}
    PortTx(const PortTx&) = delete;
    PortTx& operator=(const PortTx&) = delete;
    ~PortTx();

    [[nodiscard]] bool enqueue(Packet* packet, unsigned queue) { return egress_.enqueue(packet, queue); }
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
    [[nodiscard]] const PortTxCounters& counters() const { return counters_; }

private:
    [[nodiscard]] Packet* next(Instant now);
    void fill(Instant now);
    std::size_t drain();
    void discard_all();

    Egress egress_;
    FaultInjector fault_;
    Port* port_;
    std::array<Packet*, kBurst> staged_{};
    std::size_t staged_count_ = 0;
    std::size_t tapped_count_ = 0;  ///< of the staged ones, how many the tap has seen
    bool ring_full_ = false;
    Instant retry_at_{};
    Tap tap_ = nullptr;
    void* tap_context_ = nullptr;
    PortTxCounters counters_;
};

}  // namespace vroce
