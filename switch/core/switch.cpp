// Ties tables, ports and pipeline together.
#include "switch/core/switch.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "common/counters/loop_counters.hpp"
#include "switch/core/ethernet.hpp"
#include "switch/core/frame.hpp"
#include "switch/pipeline/pipeline.hpp"

namespace vroce::sw {

namespace {

/// For so long after a gap of the worker, which let queues grow by itself, marks are counted apart.
constexpr Duration kGapEcho = milliseconds(1);

PortSchedule schedule_of(const PortQosConfig& qos) {
    PortSchedule schedule;
    for (std::size_t q = 0; q < kQueues; ++q) {
        const SchedulerConfig& from = qos.queues[q].scheduler;
        QueueSchedule& to = schedule[q];
        to.discipline = from.type == SchedulerType::kStrict ? QueueDiscipline::kStrict : QueueDiscipline::kDwrr;
        to.weight = from.weight;
        to.max_rate_bps = from.max_rate_bps;
        to.burst_bytes = static_cast<std::uint32_t>(from.burst_bytes);
    }
    return schedule;
}

FlowControlSettings flow_control_of(const PortConfig& port, Mac mac) {
    const FlowControlConfig& from = port.qos.flow_control;
    FlowControlSettings to;
    to.mode = from.link_pause ? PauseMode::kLink : from.pfc_enable != 0 ? PauseMode::kPriority : PauseMode::kOff;
    to.speed_bps = port.speed_bps;
    to.tx_priorities = from.pfc_enable;
    to.rx_priorities = from.pfc_asymmetric ? std::uint8_t{0xFF} : from.pfc_enable;
    to.priority_to_queue = from.priority_to_queue;
    for (std::size_t i = 0; i < to.mac.size(); ++i) to.mac[i] = static_cast<std::uint8_t>(mac >> (40 - 8 * i));
    return to;
}

std::optional<CongestionCurve> marking_curve(const WredConfig& wred) {
    if (!wred.ecn) return std::nullopt;
    return CongestionCurve(wred.min_bytes, wred.max_bytes, wred.probability_percent / 100.0);
}
std::optional<CongestionCurve> dropping_curve(const WredConfig& wred) {
    if (!wred.wred) return std::nullopt;
    return CongestionCurve(wred.drop_min_bytes, wred.drop_max_bytes, wred.drop_probability_percent / 100.0);
}

/// A port may be held below the speed of its line.
std::uint64_t paced_speed_bps(const PortConfig& port) {
    return port.qos.max_rate_bps == 0 ? port.speed_bps : std::min(port.speed_bps, port.qos.max_rate_bps);
}

/// The limits of a switch whose configuration has none: nothing is accounted.
BufferLimits limits_of(const SwitchConfig& config) {
    BufferLimits limits = config.buffer_limits;
    limits.ports.resize(config.ports.size());
    return limits;
}

}  // namespace

Switch::Switch(ConfigSnapshot config, std::uint64_t seed)
    : config_(std::move(config)),
      fdb_(seed, config_->fdb_ageing),
      random_(seed),
      buffers_(limits_of(*config_)),
      ports_(config_->ports.size()),
      exits_(config_->ports.size()) {}

Switch::~Switch() {
    // What still waits gives back its charge to a manager that is there.
    for (PortState& port : ports_) port.tx.reset();
}

void Switch::attach(PortId port, Port& device, PacketPool& pool) {
    EgressConfig egress;
    egress.speed_bps = config_->ports[port].speed_bps;
    egress.limit_bytes = UINT64_MAX;  // limits are the buffer manager's, or the port's in the enqueue stage
    PortState& state = ports_[port];
    state.tx = std::make_unique<PortTx>(egress, device, pool);
    state.pool = &pool;
    exits_[port] = {this, port};
    state.tx->set_departure_hook(on_departure, &exits_[port]);
    configure_port(Instant{}, port);
}

void Switch::apply(Instant now, ConfigSnapshot config) {
    fdb_.flush();
    fdb_.set_ageing(now, config->fdb_ageing);
    apply_qos(now, std::move(config));
    refresh_usable();
}

void Switch::apply_qos(Instant now, ConfigSnapshot config) {
    config_ = std::move(config);
    buffers_.apply(limits_of(*config_));
    for (std::size_t port = 0; port < ports_.size(); ++port) {
        if (ports_[port].tx != nullptr) configure_port(now, static_cast<PortId>(port));
    }
}

void Switch::configure_port(Instant now, PortId port) {
    const PortConfig& config = config_->ports[port];
    PortState& state = ports_[port];
    state.limit_bytes = config.egress_limit_bytes;
    state.limit_packets = config.egress_limit_packets;
    state.tx->egress().set_speed(paced_speed_bps(config));
    state.tx->egress().set_schedule(schedule_of(config.qos));
    state.flow_control.configure(now, flow_control_of(config, config_->mac + port));
    for (std::size_t q = 0; q < kQueues; ++q) {
        const WredConfig& wred = config.qos.queues[q].wred;
        state.queues[q].ecn = marking_curve(wred);
        state.queues[q].wred = dropping_curve(wred);
    }
}

void Switch::set_link(Instant now, PortId port, bool up) {
    if (contains(links_, port) == up) return;
    links_ ^= port_bit(port);
    if (!up) {
        fdb_.flush_port(port);
        ports_[port].flow_control.reset(now);
    }
    refresh_usable();
}

void Switch::receive(Instant now, PortId port, std::span<Packet* const> packets) {
    if (packets.empty()) return;
    Burst burst(now, port, ports_[port].counters, packets);
    run_pipeline(burst, departures_, PipelineTables{*config_, fdb_, ports_, usable_, buffers_, random_});
}

void Switch::begin_iteration(Instant now) {
    if (now_ != Instant{} && now - now_ > LoopCounters::kGap) {
        gap_echo_until_ = now + kGapEcho;
        for (std::size_t port = 0; port < ports_.size(); ++port) {
            if (ports_[port].tx != nullptr && send_pauses(now, static_cast<PortId>(port))) ports_[port].tx->flush(now);
        }
    }
    now_ = now;
}

std::size_t Switch::transmit(Instant now) {
    now_ = now;
    buffers_.update();  // highest use of the iteration
    std::size_t sent = 0;
    for (std::size_t port = 0; port < ports_.size(); ++port) {
        PortState& state = ports_[port];
        if (state.tx == nullptr) continue;
        static_cast<void>(send_pauses(now, static_cast<PortId>(port)));
        const std::uint8_t paused = state.flow_control.paused_queues(now);
        if (paused != state.tx->egress().paused_mask()) state.tx->egress().set_paused(now, paused);
        sent += state.tx->flush(now);
    }
    buffers_.update();  // lowest
    return sent;
}

/// True when there is a frame to be sent.
bool Switch::send_pauses(Instant now, PortId port) {
    PortState& state = ports_[port];
    if (!contains(links_, port) || state.flow_control.settings().mode == PauseMode::kOff) return false;
    const auto frame = state.flow_control.poll(now, buffers_.congested_groups(port));
    if (!frame) return false;
    Packet* packet = state.pool->alloc();
    if (packet == nullptr) {
        // Forgotten, so that the next iteration asks anew; a lost XON ends with the pause it would have ended.
        ++state.counters.pause_without_packet;
        state.flow_control.sender().reset(now);
        return false;
    }
    packet->resize(static_cast<std::uint32_t>(frame->size()));
    std::copy(frame->begin(), frame->end(), packet->data);
    state.tx->send_control(packet);
    return true;
}

void Switch::on_departure(void* exit, std::span<const Departed> departed, Instant now) {
    const auto& [owner, port] = *static_cast<Exit*>(exit);
    std::array<Packet*, PortTx::kBurst> packets;
    std::ranges::transform(departed, packets.begin(), &Departed::packet);
    owner->buffers_.release_all({packets.data(), departed.size()});
    PortState& state = owner->ports_[port];
    for (const Departed& one : departed) {
        if (state.queues[one.queue].ecn) owner->mark(state, one, now);
    }
}

/// Congestion experienced (RFC 3168), by what the packet leaves behind in its queue.
void Switch::mark(PortState& port, const Departed& departed, Instant now) {
    if (!port.queues[departed.queue].ecn->hits(departed.depth_bytes, random_)) return;
    EcnCounters& counters = port.counters.ecn[departed.queue];
    switch (mark_congestion(*departed.packet)) {
        case EcnMark::kMarked:
            ++(now < gap_echo_until_ ? counters.marked_after_gap : counters.marked);
            break;
        case EcnMark::kNotEct:
            ++counters.not_ect;
            break;
        case EcnMark::kAlready:
            break;
    }
}

bool Switch::may_receive(PortId port) {
    buffers_.update(port);
    return buffers_.headroom_for(port, kBurst * (config_->ports[port].mtu_bytes + kHeaderBytes + kMaxTags * kTagBytes));
}

Instant Switch::next_deadline() const {
    Instant deadline = fdb_.next_deadline();
    for (const PortState& port : ports_) {
        if (port.tx == nullptr) continue;
        deadline = std::min({deadline, port.tx->next_deadline(), port.flow_control.next_deadline(now_)});
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
