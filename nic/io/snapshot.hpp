// What the worker knows at one moment, copied between two of its iterations; JSON is made of it elsewhere.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nic/io/worker.hpp"
#include "nic/transport/engine_counters.hpp"

namespace vroce::nic {

struct PortSnapshot {
    std::string name;
    PortTxCounters tx;
    EgressCounters egress;
    std::uint64_t backlog_bytes = 0;
    std::uint64_t drop_queue_full = 0;
    CounterSet<FaultEvent> tx_fault;
    CounterSet<FaultEvent> rx_fault;
    FaultRequest fault;
    FlowControl flow_control;
    std::array<QueueCounters, Egress::kQueues> queues{};
    std::uint64_t pause_without_packet = 0;
};

struct Snapshot {
    Instant now{};
    bool link_up = false;
    EthdevPortCounters uplink_device;
    std::vector<TapCounters> tap_devices;
    std::vector<PortSnapshot> ports;  ///< the uplink first, then the TAPs in order
    EngineCounters engine;
    BridgeCounters bridge;
    WorkerCounters worker;
    std::uint64_t sleeps = 0;
    std::uint64_t packets_free = 0;
    std::uint64_t packets_denied = 0;
};

/// On the worker.
[[nodiscard]] Snapshot take_snapshot(Worker& worker, const MbufPool& pool);

[[nodiscard]] nlohmann::json counters_json(const Snapshot& snapshot);

}  // namespace vroce::nic
