// The switch as a machine without I/O: frames and the time go in, frames and the next deadline come out. Ports are
// given to it (a DPDK port, a link of the simulator, a list in a test).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/random.hpp"
#include "common/base/time.hpp"
#include "common/packet/packet.hpp"
#include "common/packet/port.hpp"
#include "switch/core/departures.hpp"
#include "switch/core/port_counters.hpp"
#include "switch/core/port_state.hpp"
#include "switch/core/switch_config.hpp"
#include "switch/l2/fdb.hpp"
#include "switch/mmu/buffer_manager.hpp"

namespace vroce::sw {

/// One owner thread. A port's index is its place in config.ports, of which apply() may change all but the number.
class Switch {
public:
    Switch(ConfigSnapshot config, std::uint64_t seed);
    ~Switch();
    Switch(const Switch&) = delete;
    Switch& operator=(const Switch&) = delete;

    /// Gives a port its way out; both outlive the switch. A port without one never comes up.
    void attach(PortId port, Port& device, PacketPool& pool);

    /// Takes a new configuration for the same ports. What has been learnt is forgotten.
    void apply(Instant now, ConfigSnapshot config);

    /// The same for a configuration that differs in priorities, schedulers, flow control and buffers alone: what has
    /// been learnt stays, and live charges keep what they hold.
    void apply_qos(Instant now, ConfigSnapshot config);

    /// Tells that a device's link came or went. A port is up when its device is and its configuration lets it; one that
    /// is down gets no frames, and its stations are forgotten.
    void set_link(Instant now, PortId port, bool up);

    /// Takes ownership of frames that came in by `port`, at most kBurst, in order. Frames of a port that is
    /// administratively down must not be given.
    void receive(Instant now, PortId port, std::span<Packet* const> packets);
    void receive(Instant now, PortId port, Packet* packet) { receive(now, port, {&packet, 1}); }

    /// Sends what may leave now by all ports. Returns how many frames the devices took.
    std::size_t transmit(Instant now);

    /// Does what is due; call it when next_deadline() has come, or more often.
    void on_timeout(Instant now) { fdb_.age(now); }

    /// First thing in an iteration: repeats the pauses that are due, since a worker that was away for long must do that
    /// before anything else (design D11e). After a gap of more than LoopCounters::kGap, marks are counted apart for a
    /// while.
    void begin_iteration(Instant now);
    /// The worker slept, since there was nothing to do: that gap was meant.
    void forgive_gap() { now_ = Instant{}; }
    /// When something happens without a frame coming in: a port may send again, entries age. kNever if nothing will.
    [[nodiscard]] Instant next_deadline() const;

    const SwitchConfig& config() const { return *config_; }
    std::size_t port_count() const { return ports_.size(); }
    bool admin_up(PortId port) const { return config_->ports[port].admin_up && ports_[port].tx != nullptr; }
    bool link_up(PortId port) const { return contains(usable_, port); }
    const PortCounters& counters(PortId port) const { return ports_[port].counters; }
    /// nullptr for a port without a device.
    PortTx* tx(PortId port) { return ports_[port].tx.get(); }
    const PortTx* tx(PortId port) const { return ports_[port].tx.get(); }
    const Fdb& fdb() const { return fdb_; }
    const BufferManager& buffers() const { return buffers_; }
    FlowControl& flow_control(PortId port) { return ports_[port].flow_control; }
    const FlowControl& flow_control(PortId port) const { return ports_[port].flow_control; }
    /// True while the port's lossless priority groups have room for a burst of its largest frames: else it had better
    /// not be read, so that its ring pushes back.
    bool may_receive(PortId port);

private:
    /// Whose queues packets leave.
    struct Exit {
        Switch* owner = nullptr;
        PortId port = 0;
    };
    static void on_departure(void* exit, std::span<const Departed> departed, Instant now);
    void mark(PortState& port, const Departed& departed, Instant now);
    void configure_port(Instant now, PortId port);
    bool send_pauses(Instant now, PortId port);
    void refresh_usable();

    ConfigSnapshot config_;
    Fdb fdb_;
    Random random_;  ///< for early marks and drops
    BufferManager buffers_;
    std::vector<PortState> ports_;
    std::vector<Exit> exits_;
    PortSet links_ = 0;   ///< devices whose link is up
    PortSet usable_ = 0;  ///< of these, the ports that may forward
    Departures departures_;
    Instant now_{};             ///< of the last iteration
    Instant gap_echo_until_{};  ///< queues still hold what a gap of the worker made wait
};

}  // namespace vroce::sw
