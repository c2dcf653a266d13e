// What the switch keeps for each port: its counters, its queues' curves, its flow control and its way out.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "common/egress/port_tx.hpp"
#include "pfc/flow_control.hpp"
#include "switch/core/buffer_config.hpp"
#include "switch/core/port_counters.hpp"
#include "switch/qos/congestion.hpp"

namespace vroce::sw {

struct QueueState {
    std::optional<CongestionCurve> ecn;   ///< marks at dequeue
    std::optional<CongestionCurve> wred;  ///< drops at admission
};

struct PortState {
    PortCounters counters;
    std::uint64_t limit_bytes = 0;    ///< of what waits for the port, for frames that the buffer manager does not know
    std::uint32_t limit_packets = 0;  ///< likewise
    std::array<QueueState, kQueues> queues;
    FlowControl flow_control;
    PacketPool* pool = nullptr;
    std::unique_ptr<PortTx> tx;  ///< none: the port has no device and is never up
};

}  // namespace vroce::sw
