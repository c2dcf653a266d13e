// A port of the NIC process with everything that stands between it and the bridge: pacing and queue on the way out, the
// bad link and the capture on both ways.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "common/dpdk/capture.hpp"
#include "common/egress/port_tx.hpp"
#include "common/fault/fault_injector.hpp"
#include "common/packet/port.hpp"

namespace vroce::nic {

/// Worker only.
class AttachedPort {
public:
    AttachedPort(std::string name, const EgressConfig& egress, Port& port, PacketPool& pool)
        : name_(std::move(name)), port_(port), tx_(egress, port, pool), rx_fault_(pool) {}

    /// Frames that have come and, on a bad link, are due. The caller owns them.
    [[nodiscard]] std::size_t receive(Instant now, std::span<Packet*> out);
    /// Takes the packet; drops and counts it when the queue is full.
    void send(Packet* packet);
    /// True when something left.
    bool flush(Instant now) { return tx_.flush(now) != 0; }
    [[nodiscard]] Instant next_deadline() const;

    void set_fault(const FaultRequest& request);
    /// nullptr: ends the capture.
    void set_capture(Capture* capture);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] Port& port() { return port_; }
    [[nodiscard]] const PortTx& tx() const { return tx_; }
    [[nodiscard]] const FaultInjector& rx_fault() const { return rx_fault_; }
    [[nodiscard]] const FaultRequest& fault() const { return fault_; }
    [[nodiscard]] std::size_t backlog_packets() const { return tx_.egress().backlog_packets(); }
    [[nodiscard]] std::uint64_t drop_queue_full() const { return drop_queue_full_; }

private:
    std::string name_;
    Port& port_;
    PortTx tx_;
    FaultInjector rx_fault_;
    FaultRequest fault_;
    Capture* capture_ = nullptr;
    std::uint64_t drop_queue_full_ = 0;
};

}  // namespace vroce::nic
