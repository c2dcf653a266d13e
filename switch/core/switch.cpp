// Ties tables, ports and pipeline together.
#include "switch/core/switch.hpp"

#include <algorithm>

#include "switch/core/frame.hpp"
#include "switch/pipeline/pipeline.hpp"

namespace vroce::sw {

Switch::Switch(ConfigSnapshot config, std::uint64_t seed)
    : config_(std::move(config)), fdb_(seed, config_->fdb_ageing), ports_(config_->ports.size()) {}

void Switch::attach(PortId port, Port& device, PacketPool& pool) {
    const PortConfig& config = config_->ports[port];
    EgressConfig egress;
    egress.speed_bps = config.speed_bps;
    egress.limit_bytes = config.egress_limit_bytes;
    ports_[port].limit_packets = config.egress_limit_packets;
    ports_[port].tx = std::make_unique<PortTx>(egress, device, pool);
}

void Switch::apply(Instant now, ConfigSnapshot config) {
    config_ = std::move(config);
    fdb_.flush();
    fdb_.set_ageing(now, config_->fdb_ageing);
    for (std::size_t port = 0; port < ports_.size(); ++port) {
        if (ports_[port].tx == nullptr) continue;
        ports_[port].limit_packets = config_->ports[port].egress_limit_packets;
        ports_[port].tx->egress().set_speed(config_->ports[port].speed_bps);
    }
    refresh_usable();
}

void Switch::set_link(PortId port, bool up) {
    if (contains(links_, port) == up) return;
    links_ ^= port_bit(port);
    if (!up) fdb_.flush_port(port);
    refresh_usable();
}

void Switch::receive(Instant now, PortId port, std::span<Packet* const> packets) {
    if (packets.empty()) return;
    Burst burst(now, port, ports_[port].counters, packets);
    run_pipeline(burst, departures_, PipelineTables{*config_, fdb_, ports_, usable_});
}

std::size_t Switch::transmit(Instant now) {
    std::size_t sent = 0;
    for (PortState& port : ports_) {
        if (port.tx != nullptr) sent += port.tx->flush(now);
    }
    return sent;
}

Instant Switch::next_deadline() const {
    Instant deadline = fdb_.next_deadline();
    for (const PortState& port : ports_) {
        if (port.tx != nullptr) deadline = std::min(deadline, port.tx->next_deadline());
    }
    return deadline;
}

void Switch::refresh_usable() {
    usable_ = 0;
    for (std::size_t port = 0; port < ports_.size(); ++port) {
        const auto id = static_cast<PortId>(port);
        if (contains(links_, id) && admin_up(id)) usable_ |= port_bit(id);
    }
}

}  // namespace vroce::sw
