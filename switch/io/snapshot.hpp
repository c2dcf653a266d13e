// What the worker knows at one moment, copied between two of its rounds, and the JSON that is made of it elsewhere.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "switch/io/io_port.hpp"
#include "switch/io/worker.hpp"

namespace vroce::sw {

/// A port of the configuration; one without a device has only its name and zeros.
struct PortSnapshot {
    PortConfig config;
    PortDevice device;
    bool open = false;  ///< has a device
    bool link_up = false;
    PortCounters counters;
    PortTxCounters tx;
    EgressCounters egress;
    std::uint64_t backlog_bytes = 0;
    std::uint64_t backlog_packets = 0;
    EthdevPortCounters ethdev;
    std::uint64_t rx_hold_ns = 0;
    CounterSet<FaultEvent> rx_fault;
    CounterSet<FaultEvent> tx_fault;
    FlowControl flow_control;
    std::array<QueueCounters, kQueues> queues;
    std::array<std::uint64_t, kQueues> queue_bytes{};
    std::array<PriorityGroupUse, kPriorityGroups> group_use{};
    std::array<std::uint64_t, kPriorityGroups> group_limit_bytes{};
    std::array<std::uint64_t, kPriorityGroups> group_headroom_bytes{};  ///< what it may use of it; 0: lossy
    std::array<QueueUse, kQueues> queue_use{};
};

struct Snapshot {
    std::vector<PortSnapshot> ports;
    std::vector<Fdb::Entry> stations;  ///< only when asked for
    Instant now{};
    std::vector<PoolUse> pools;
    std::vector<PoolLimits> pool_limits;
    Fdb::Counters fdb;
    std::size_t fdb_size = 0;
    WorkerCounters worker;
    std::uint64_t sleeps = 0;
    std::uint64_t packets_free = 0;
    std::uint64_t packets_denied = 0;
};

/// Runs on the worker; `snapshot.ports` has been filled with names and devices before, so that it only copies numbers.
void take_snapshot(Snapshot& snapshot, const Switch& core, const IoPorts& ports, const Worker& worker,
                   const MbufPool& pool);

nlohmann::json ports_json(const Snapshot& snapshot);
nlohmann::json counters_json(const Snapshot& snapshot);
nlohmann::json fdb_json(const Snapshot& snapshot);
/// The same as an object, the form that DPDK's telemetry can nest: {"size": 2, "station_0": {…}, …}, at most 200.
nlohmann::json fdb_telemetry_json(const Snapshot& snapshot);

}  // namespace vroce::sw
