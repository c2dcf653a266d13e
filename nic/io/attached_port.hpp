// A port of the NIC process with everything that stands between it and the bridge: queues and pacing on the way out,
// flow control, the bad link and the capture on both ways.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "common/dpdk/capture.hpp"
#include "common/egress/port_tx.hpp"
#include "common/fault/fault_injector.hpp"
#include "common/packet/port.hpp"
#include "pfc/flow_control.hpp"

namespace vroce::nic {

/// Worker only. `egress.limit_bytes` is that of each queue, so that a paused one takes no room from the others.
class AttachedPort {
public:
    AttachedPort(std::string name, const EgressConfig& egress, Port& port, PacketPool& pool)
        : name_(std::move(name)),
          port_(port),
          pool_(pool),
          queue_limit_bytes_(egress.limit_bytes),
          tx_(whole_port(egress), port, pool),
          rx_fault_(pool) {}

    /// Frames that have come and, on a bad link, are due. The caller owns them.
    [[nodiscard]] std::size_t receive(Instant now, std::span<Packet*> out);
    /// Takes the packet into a queue (0..7); drops and counts it when the queue is full.
    void send(Packet* packet, unsigned queue);
    /// `congested`: bit p while priority p had better not come in. True when something left.
    bool flush(Instant now, std::uint8_t congested);
    [[nodiscard]] Instant next_deadline(Instant now) const;

    void set_flow_control(Instant now, const FlowControlSettings& settings) { flow_control_.configure(now, settings); }
    [[nodiscard]] FlowControl& flow_control() { return flow_control_; }
    [[nodiscard]] const FlowControl& flow_control() const { return flow_control_; }

    /// Refuses what would do nothing here.
    Status set_fault(Instant now, const FaultRequest& request);
    /// nullptr: ends the capture.
    void set_capture(Capture* capture);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] Port& port() { return port_; }
    [[nodiscard]] const PortTx& tx() const { return tx_; }
    [[nodiscard]] const FaultInjector& rx_fault() const { return rx_fault_; }
    [[nodiscard]] const FaultRequest& fault() const { return fault_; }
    /// Of the queues that may send, and of those that the peer has paused.
    [[nodiscard]] std::size_t sendable_packets() const {
        return tx_.egress().backlog_packets() - tx_.egress().paused_packets();
    }
    [[nodiscard]] std::size_t paused_packets() const { return tx_.egress().paused_packets(); }
    [[nodiscard]] std::uint64_t drop_queue_full() const { return drop_queue_full_; }
    /// Pause frames put off because the pool was empty.
    [[nodiscard]] std::uint64_t pause_without_packet() const { return pause_without_packet_; }

private:
    static EgressConfig whole_port(EgressConfig egress) {
        egress.limit_bytes *= Egress::kQueues;
        return egress;
    }
    /// Keeps what is not for the MAC itself.
    [[nodiscard]] std::size_t take_mac_control(Instant now, std::span<Packet*> packets);
    void send_pause(Instant now, std::uint8_t congested);

    std::string name_;
    Port& port_;
    PacketPool& pool_;
    std::uint64_t queue_limit_bytes_;
    FlowControl flow_control_;
    PortTx tx_;
    FaultInjector rx_fault_;
    FaultRequest fault_;
    Capture* capture_ = nullptr;
    std::uint64_t drop_queue_full_ = 0;
    std::uint64_t pause_without_packet_ = 0;
};

}  // namespace vroce::nic
