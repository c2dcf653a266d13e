#include "nic/io/snapshot.hpp"

#include "pfc/flow_control_json.hpp"

namespace vroce::nic {
namespace {

using nlohmann::json;

PortSnapshot snapshot_of(const AttachedPort& port) {
    PortSnapshot snapshot{.name = port.name(),
                          .tx = port.tx().counters(),
                          .egress = port.tx().egress().counters(),
                          .backlog_bytes = port.tx().backlog_bytes(),
                          .drop_queue_full = port.drop_queue_full(),
                          .tx_fault = port.tx().fault().counters(),
                          .rx_fault = port.rx_fault().counters(),
                          .fault = port.fault(),
                          .flow_control = port.flow_control(),
                          .queues = {},
                          .pause_without_packet = port.pause_without_packet()};
    for (unsigned q = 0; q < Egress::kQueues; ++q) snapshot.queues[q] = port.tx().egress().queue_counters(q);
    return snapshot;
}

template <typename E>
json set_json(const CounterSet<E>& counters) {
    json out = json::object();
    counters.for_each([&](std::string_view name, std::uint64_t value) { out[std::string(name)] = value; });
    return out;
}

json port_json(const PortSnapshot& port) {
    return {{"tx_packets", port.tx.tx_packets},
            {"tx_bytes", port.tx.tx_bytes},
            {"tx_ring_full", port.tx.tx_ring_full},
            {"drop_link_down", port.tx.link_down},
            {"drop_queue_full", port.drop_queue_full},
            {"backlog_bytes", port.backlog_bytes},
            {"backlog_bytes_max", port.egress.backlog_bytes_max},
            {"fault_tx", set_json(port.tx_fault)},
            {"fault_rx", set_json(port.rx_fault)}};
}

json queues_json(const PortSnapshot& port) {
    json queues = json::object();
    for (unsigned q = 0; q < Egress::kQueues; ++q) {
        const QueueCounters& queue = port.queues[q];
        queues[std::to_string(q)] = {
            {"packets", queue.packets}, {"bytes", queue.bytes}, {"backlog_bytes_max", queue.backlog_bytes_max}};
    }
    return queues;
}

json uplink_json(const PortSnapshot& port, const EthdevPortCounters& device, Instant now) {
    json out = port_json(port);
    out["pause"] = flow_control_json(port.flow_control, port.pause_without_packet, now);
    out["queue"] = queues_json(port);
    out["rx_packets"] = device.rx_packets;
    out["rx_bytes"] = device.rx_bytes;
    out["rx_no_buffer"] = device.rx_no_buffer;
    out["drop_multi_segment"] = device.rx_multi_segment;
    out["peer_lost_in_burst"] = device.peer_lost_in_burst;
    out["restarts"] = device.restarts;
    return out;
}

json tap_json(const PortSnapshot& port, const TapCounters& device) {
    json out = port_json(port);
    out["rx_packets"] = device.rx_packets;
    out["rx_bytes"] = device.rx_bytes;
    out["rx_errors"] = device.rx_errors;
    out["rx_no_buffer"] = device.rx_no_buffer;
    // The kernel refuses frames while the interface is down; they were handed over and are not sent.
    out["tx_packets"] = device.tx_packets;
    out["tx_bytes"] = device.tx_bytes;
    out["drop_refused"] = device.tx_refused;
    return out;
}

json engine_json(const EngineCounters& counters) {
    json out = json::object();
    for (std::size_t i = 0; i < kEngineCounterCount; ++i)
        out[std::string(kEngineCounterLabels[i])] = counters.values[i];
    return out;
}

json worker_json(const Snapshot& snapshot) {
    json worker = loop_counters_json(snapshot.worker.loop);
    worker["sleeps"] = snapshot.sleeps;
    worker["link_changes"] = snapshot.worker.link_changes;
    return worker;
}

}  // namespace

Snapshot take_snapshot(Worker& worker, const MbufPool& pool) {
    Snapshot out;
    out.now = worker.now();
    out.link_up = worker.uplink_device().link_up();
    out.uplink_device = worker.uplink_device().counters();
    out.ports.push_back(snapshot_of(worker.uplink()));
    for (std::size_t i = 0; i < worker.taps().size(); ++i) {
        out.ports.push_back(snapshot_of(*worker.taps()[i]));
        out.tap_devices.push_back(worker.tap_device(i).counters());
    }
    out.engine = worker.engine().counters();
    out.bridge = worker.bridge().counters();
    out.worker = worker.counters();
    out.sleeps = worker.sleeps();
    out.packets_free = pool.available();
    out.packets_denied = pool.alloc_failures();
    return out;
}

json counters_json(const Snapshot& snapshot) {
    json ports = json::object();
    ports[snapshot.ports[0].name] = uplink_json(snapshot.ports[0], snapshot.uplink_device, snapshot.now);
    for (std::size_t i = 0; i < snapshot.tap_devices.size(); ++i) {
        ports[snapshot.ports[i + 1].name] = tap_json(snapshot.ports[i + 1], snapshot.tap_devices[i]);
    }
    return {{"ports", ports},
            {"engine", engine_json(snapshot.engine)},
            {"bridge", set_json(snapshot.bridge)},
            {"worker", worker_json(snapshot)},
            {"pool", {{"packets_free", snapshot.packets_free}, {"packets_denied", snapshot.packets_denied}}}};
}

}  // namespace vroce::nic
