// What the parts of one queue pair share, and what all queue pairs of an engine share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/transport/engine.hpp"
#include "nic/transport/engine_counters.hpp"
#include "nic/transport/inbox.hpp"
#include "nic/transport/landing.hpp"
#include "nic/transport/port_window.hpp"
#include "nic/transport/read_job.hpp"
#include "nic/transport/send_item.hpp"
#include "nic/transport/slab.hpp"
#include "nic/wire/frame_template.hpp"

namespace vroce::nic {

struct EngineCore {
    EngineCore(const EngineConfig& of, PacketPool& from) : config(of), pool(from), port_window(of.port_window_bytes) {
        config.quantum_packets = std::max(config.quantum_packets, 1U);
        waiting_room.most = pool.available() / 4;
    }

    EngineConfig config;
    PacketPool& pool;
    EngineCounters counters;
    PortWindow port_window;
    WaitingRoom waiting_room;
    Landing landing;
    Slab<SendItem> send_items;
    Slab<ReadJob> read_jobs;
};

struct QpContext {
    QpContext(EngineCore& of, QpEnv& with, std::uint32_t number, const QpLimits& at_most)
        : core(of), env(with), qpn(number), limits(at_most) {}

    EngineCore& core;
    QpEnv& env;
    std::uint32_t qpn;
    QpLimits limits;
    QpState state = QpState::Reset;
    bool fault = false;  ///< a part found a reason for Err; Qp::settle() goes there when the part has returned
    Gathered gathered;
    QpAttributes attributes;
    FrameTemplate frames;

    void set_attributes(const QpAttributes& to) {
        attributes = to;
        attributes.path_mtu_bytes = std::clamp(to.path_mtu_bytes, 256U, 4'096U);
        frames = FrameTemplate(to.av);
    }
    [[nodiscard]] std::uint32_t mtu() const { return attributes.path_mtu_bytes; }
    /// A path MTU beyond what the port carries would be silence on the wire; it must be an error here.
    [[nodiscard]] bool port_carries(std::uint64_t message_bytes) const {
        constexpr std::uint64_t kMostHeaders = Bth::kBytes + Reth::kBytes + ImmDt::kBytes + kIcrcBytes;
        const std::uint64_t payload = (std::min<std::uint64_t>(message_bytes, mtu()) + 3) / 4 * 4;
        return frames.transport_offset() + kMostHeaders + payload <= core.pool.max_frame_bytes();
    }
    /// Puts a frame's payload to what is already gathered.
    void gather(std::span<const std::uint8_t> payload, bool response) {
        core.landing.add(payload);
        ++gathered.frames;
        gathered.bytes += static_cast<std::uint32_t>(payload.size());
        gathered.responses = response;
    }
    void count(EngineCounter counter, std::uint64_t n = 1) { core.counters.add(counter, n); }
    /// The only way to the completion queues: a full one is fatal to the queue pair (IBTA 10.10.3.2 class G).
    void complete(const Completion& completion) {
        if (env.complete(completion)) return;
        count(EngineCounter::CompletionQueueFull);
        fault = true;
    }
};

}  // namespace vroce::nic
