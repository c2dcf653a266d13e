// Where packets enter and leave a process. Behind it: a DPDK port (memif, tap, af_packet, PCI), a ring of our own, a
// link of the simulator.
#pragma once

#include <cstddef>
#include <span>

#include "common/packet/packet.hpp"

namespace vroce {

class Port {
public:
    virtual ~Port() = default;
    /// Takes up to out.size() received packets; the caller owns them. Returns how many. Never blocks.
    [[nodiscard]] virtual std::size_t receive(std::span<Packet*> out) = 0;
    /// Gives packets to the device in order; returns how many it took (and owns now). The rest stay the caller's,
    /// who holds and counts them (`tx_ring_full`), and never drops them.
    [[nodiscard]] virtual std::size_t send(std::span<Packet* const> packets) = 0;
    /// True while the peer is connected; packets given while it is false stay with the caller.
    [[nodiscard]] virtual bool link_up() const = 0;

    // Sleeping (design: idle costs nothing, packets wake a sleeper). Owner thread only.
    /// A descriptor that becomes readable when packets may have arrived, or -1: then the owner polls on a timer.
    [[nodiscard]] virtual int wake_fd() const { return -1; }
    /// Says that the owner is about to sleep (true) or awake (false); after true the owner must call receive() once
    /// more before it sleeps.
    virtual void set_sleeping(bool sleeping) { static_cast<void>(sleeping); }
    /// Wakes the peer when it sleeps; called once after each burst of send().
    virtual void ring_doorbell() {}
    /// When a sleeping owner must look again although nothing woke it (a peer without doorbell); kNever: not needed.
    [[nodiscard]] virtual Instant next_poll(Instant now) const {
        static_cast<void>(now);
        return kNever;
    }
};

}  // namespace vroce
