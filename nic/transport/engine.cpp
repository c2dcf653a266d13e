// The engine: finds the queue pair of an event, lets it act, and keeps its place in the round robins and in the heap of
// deadlines.
#include "nic/transport/engine.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "nic/transport/qp_context.hpp"
#include "nic/transport/qp_table.hpp"
#include "nic/transport/scheduler.hpp"

namespace vroce::nic {
namespace {

EngineCounter drop_reason(FrameVerdict verdict) {
    switch (verdict) {
        case FrameVerdict::Fragment:
            return EngineCounter::RxDropFragment;
        case FrameVerdict::ReservedOpcode:
            return EngineCounter::RxDropOpcode;
        case FrameVerdict::Ok:
        case FrameVerdict::Truncated:
        case FrameVerdict::NotRoce:
        case FrameVerdict::BadIpHeader:
        case FrameVerdict::BadLength:
            break;
    }
    return EngineCounter::RxDropMalformed;
}

}  // namespace

struct Engine::State {
    State(const EngineConfig& config, PacketPool& pool) : core(config, pool), scheduler(core), table(config.seed) {}

    EngineCore core;
    Scheduler scheduler;
    QpTable table;  // after the scheduler, whose lists its members leave when they go
    std::map<std::uint32_t, std::unique_ptr<Qp>> retired;  ///< destroyed, but a copy still uses packets of theirs
    Qp* gathering = nullptr;  ///< in receive() only: the one that has gathered payload and not landed it

    void receive(Instant now, Packet* packet);
    void land(Instant now);

    /// Nobody to give it to: the reason, counted.
    void drop(EngineCounter reason, Packet* packet) {
        core.counters.add(reason);
        release(packet);
    }
};

Engine::Engine(const EngineConfig& config, PacketPool& pool) : state_(std::make_unique<State>(config, pool)) {}
Engine::~Engine() = default;

std::uint32_t Engine::create_qp(QpEnv& env, const QpLimits& limits) {
    const std::uint32_t qpn = state_->table.reserve();
    if (qpn != 0) state_->table.put(qpn, std::make_unique<Qp>(state_->core, env, qpn, limits));
    return qpn;
}

void Engine::destroy_qp(std::uint32_t qpn) {
    std::unique_ptr<Qp> qp = state_->table.take(qpn);
    if (qp == nullptr) return;
    state_->scheduler.forget(*qp);
    if (qp->retire()) state_->retired[qpn] = std::move(qp);
}

void Engine::modify_qp(Instant now, std::uint32_t qpn, QpState to, const QpAttributes& attributes) {
    Qp* qp = state_->table.find(qpn);
    if (qp == nullptr) return;
    if (to == QpState::Reset) state_->scheduler.forget(*qp);
    qp->modify(now, to, attributes);
    state_->scheduler.update(*qp);
}

QpStatus Engine::query_qp(std::uint32_t qpn) const {
    const Qp* qp = state_->table.find(qpn);
    return qp == nullptr ? QpStatus{} : qp->status();
}

void Engine::receive(Instant now, std::span<Packet* const> packets) {
    for (Packet* packet : packets) state_->receive(now, packet);
    state_->land(now);
}

void Engine::State::receive(Instant now, Packet* packet) {
    EngineCounters& counters = core.counters;
    counters.add(EngineCounter::RxPackets);
    counters.add(EngineCounter::RxBytes, packet->length);
    RoceFrame frame;
    if (packet->meta.l3_offset == 0) packet->meta.l3_offset = static_cast<std::uint16_t>(locate_l3(packet->bytes()));
    const std::size_t l3 = std::min<std::size_t>(packet->meta.l3_offset, packet->length);
    FrameVerdict verdict = parse_envelope(packet->bytes().subspan(l3), frame);
    if (verdict != FrameVerdict::Ok) return drop(drop_reason(verdict), packet);
    if (!icrc_ok(frame)) return drop(EngineCounter::RxDropIcrc, packet);
    if (frame.bth.version != 0) return drop(EngineCounter::RxDropTransportVersion, packet);
    verdict = parse_transport(frame);
    if (verdict != FrameVerdict::Ok) return drop(drop_reason(verdict), packet);
    if (frame.op->has(kOpCnp)) return drop(EngineCounter::RxCnp, packet);
    if (frame.op->transport != Transport::Rc) return drop(EngineCounter::RxDropOpcode, packet);
    Qp* qp = table.find(frame.bth.destination_qpn);
    if (qp == nullptr) return drop(EngineCounter::RxDropNoQp, packet);
    if (qp != gathering) land(now);
    qp->receive(now, packet, frame);
    gathering = qp->has_gathered() ? qp : nullptr;
    scheduler.update(*qp);
}

void Engine::State::land(Instant now) {
    Qp* qp = std::exchange(gathering, nullptr);
    if (qp == nullptr) return;
    qp->land(now);
    scheduler.update(*qp);
}

void Engine::doorbell(Instant now, std::uint32_t qpn) {
    Qp* qp = state_->table.find(qpn);
    if (qp == nullptr) return;
    qp->doorbell(now);
    state_->scheduler.update(*qp);
}

void Engine::on_copy_done(Instant now, std::uint32_t qpn, CopyDirection direction, bool ok) {
    if (const auto old = state_->retired.find(qpn); old != state_->retired.end()) {
        old->second->copy_done(now, direction, ok);
        if (!old->second->copying()) state_->retired.erase(old);
        return;
    }
    Qp* qp = state_->table.find(qpn);
    if (qp == nullptr) return;
    qp->copy_done(now, direction, ok);
    state_->scheduler.update(*qp);
}

void Engine::on_timeout(Instant now) {
    state_->scheduler.expire(now);
}

std::size_t Engine::transmit(Instant now, std::span<Packet*> out) {
    TransmitBurst burst(out);
    state_->scheduler.transmit(now, burst);
    return burst.used();
}

Instant Engine::next_deadline() const {
    return state_->scheduler.next_deadline();
}

const EngineCounters& Engine::counters() const {
    return state_->core.counters;
}

}  // namespace vroce::nic
