// The simulated link and its clock.
#include "tests/protocol/kit/fabric.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace vroce::nic::test {
namespace {

constexpr Duration kFlight = microseconds(2);

}  // namespace

void Wire::send(Instant now, Packet* packet) {
    if (chance(faults_.drop)) return release(packet);
    if (chance(faults_.duplicate))
        if (Packet* copy = packet->pool->clone(*packet); copy != nullptr)
            flying_.emplace(now + kFlight + nanoseconds(static_cast<std::int64_t>(random_() % 20'000)), copy);
    if (chance(faults_.corrupt)) {
        // Not the Ethernet header, which the ICRC does not cover.
        const std::size_t at = packet->meta.l3_offset + random_() % (packet->length - packet->meta.l3_offset);
        packet->data[at] ^= static_cast<std::uint8_t>(1U << random_() % 8);
    }
    const bool late = chance(faults_.reorder);
    flying_.emplace(now + kFlight + (late ? nanoseconds(static_cast<std::int64_t>(random_() % 10'000)) : Duration{}),
                    packet);
}

void Wire::deliver(Instant now, Engine& to) {
    std::vector<Packet*> burst;
    while (!flying_.empty() && flying_.begin()->first <= now) {
        burst.push_back(flying_.begin()->second);
        flying_.erase(flying_.begin());
    }
    to.receive(now, burst);
}

void Wire::clear() {
    for (auto& [at, packet] : flying_) release(packet);
    flying_.clear();
}

Fabric::Fabric(const Options& options)
    : pool(8'192, 4'300),
      a(options.engine, pool),
      b(options.engine, pool),
      a_to_b_(options.seed * 2 + 1, options.faults),
      b_to_a_(options.seed * 2 + 2, options.faults) {
    for (std::size_t i = 0; i < options.pairs; ++i)
        for (Side* side : {&a, &b}) {
            side->envs.push_back(std::make_unique<TestEnv>());
            side->qpns.push_back(side->engine.create_qp(*side->envs.back(), {}));
        }
    for (std::size_t i = 0; i < options.pairs; ++i) {
        connect(a, b, i, options, true);
        connect(b, a, i, options, false);
    }
}

Fabric::~Fabric() {
    a_to_b_.clear();
    b_to_a_.clear();
    for (Side* side : {&a, &b})
        for (const std::uint32_t qpn : side->qpns) side->engine.destroy_qp(qpn);
}

void Fabric::connect(Side& from, Side& to, std::size_t pair, const Options& options, bool first) {
    QpAttributes attributes;
    attributes.av = address_vector(options.ipv6, first ? 1 : 2, first ? 2 : 1);
    attributes.destination_qpn = to.qpns[pair];
    attributes.path_mtu_bytes = options.mtu;
    // Near the end of the PSN circle, so that every program wraps.
    attributes.sq_psn = first ? 0xFFFFF0 : 0xFFFFFA;
    attributes.rq_psn = first ? 0xFFFFFA : 0xFFFFF0;
    attributes.access = kAccessRemoteRead | kAccessRemoteWrite;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = 1;
    attributes.timeout = options.timeout;
    attributes.retry_count = options.retry_count;
    attributes.rnr_retry = 7;
    for (const QpState state : {QpState::Init, QpState::Rtr, QpState::Rts})
        from.engine.modify_qp(now, from.qpns[pair], state, attributes);
}

void Fabric::ring_all() {
    for (Side* side : {&a, &b})
        for (const std::uint32_t qpn : side->qpns) side->engine.doorbell(now, qpn);
}

void Fabric::step_side(Side& side, Wire& out) {
    side.engine.on_timeout(now);
    Packet* burst[64];
    std::size_t sent;
    do {
        sent = side.engine.transmit(now, burst);
        for (std::size_t i = 0; i < sent; ++i) out.send(now, burst[i]);
    } while (sent == std::size(burst));
    EXPECT_GT(side.engine.next_deadline(), now) << "the engine would spin";
}

bool Fabric::run(std::size_t most_steps) {
    for (std::size_t step = 0; step < most_steps; ++step) {
        a_to_b_.deliver(now, b.engine);
        b_to_a_.deliver(now, a.engine);
        step_side(a, a_to_b_);
        step_side(b, b_to_a_);
        const Instant next = std::min(
            {a_to_b_.next_arrival(), b_to_a_.next_arrival(), a.engine.next_deadline(), b.engine.next_deadline()});
        if (next == kNever) return true;
        now = std::max(next, now);
    }
    return false;
}

}  // namespace vroce::nic::test
