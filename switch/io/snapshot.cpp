// Snapshot and its JSON.
#include "switch/io/snapshot.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "pfc/flow_control_json.hpp"

namespace vroce::sw {
namespace {

using nlohmann::json;

void take_port(PortSnapshot& snapshot, const Switch& core, const IoPort& port) {
    const PortTx& tx = *core.tx(port.id);
    snapshot.open = true;
    snapshot.link_up = core.link_up(port.id);
    snapshot.counters = core.counters(port.id);
    snapshot.tx = tx.counters();
    snapshot.egress = tx.egress().counters();
    snapshot.backlog_bytes = tx.egress().backlog_bytes();
    snapshot.backlog_packets = tx.egress().backlog_packets();
    snapshot.ethdev = port.device->counters();
    snapshot.rx_hold_ns = port.rx_hold_ns;
    snapshot.rx_fault = port.rx_fault.counters();
    snapshot.tx_fault = tx.fault().counters();
    snapshot.flow_control = core.flow_control(port.id);
    for (unsigned i = 0; i < kQueues; ++i) {
        snapshot.queues[i] = tx.egress().queue_counters(i);
        snapshot.queue_bytes[i] = tx.egress().queue_bytes(i);
        snapshot.queue_use[i] = core.buffers().queue(port.id, i);
        snapshot.group_use[i] = core.buffers().group(port.id, i);
        snapshot.group_limit_bytes[i] = core.buffers().group_limit_bytes(port.id, i);
        const auto& limits = core.buffers().limits().ports[port.id].groups[i];
        snapshot.group_headroom_bytes[i] = limits ? limits->headroom_bytes : 0;
    }
}

json traffic_json(const TrafficCounters& traffic) {
    return {{"packets", traffic.packets},
            {"bytes", traffic.bytes},
            {"unicast", traffic.unicast},
            {"multicast", traffic.multicast},
            {"broadcast", traffic.broadcast}};
}

/// "0": …, "1": …: an object, so that a reader can leave out the zeros.
template <std::size_t N>
json indexed_json(const std::array<std::uint64_t, N>& counts) {
    json object = json::object();
    for (std::size_t i = 0; i < N; ++i) object[std::to_string(i)] = counts[i];
    return object;
}

json priority_json(const PortCounters& counters) {
    json object = json::object();
    for (std::size_t p = 0; p < kPriorities; ++p) {
        const PriorityCounters& priority = counters.rx_priority[p];
        object[std::to_string(p)] = {{"rx_packets", priority.packets}, {"rx_bytes", priority.bytes}};
    }
    return object;
}

json unprotected_json(const PortCounters& counters) {
    return {{"packets", counters.roce_in_lossy_class()},
            {"dscp", indexed_json(counters.roce_in_lossy_class_dscp)},
            {"pcp", indexed_json(counters.roce_in_lossy_class_pcp)}};
}

/// Of the reasons that can end a frame there.
json drops_json(const DropCounters& drops, std::initializer_list<DropReason> reasons) {
    json object = json::object();
    for (const DropReason reason : reasons) object[std::string(label(reason))] = drops[index(reason)];
    return object;
}

json queue_json(const PortSnapshot& port, unsigned q) {
    const QueueCounters& queue = port.queues[q];
    const EcnCounters& ecn = port.counters.ecn[q];
    return {{"packets", queue.packets},
            {"bytes", queue.bytes},
            {"backlog_bytes", port.queue_bytes[q]},
            {"backlog_bytes_max", queue.backlog_bytes_max},
            {"ecn_marked", ecn.marked},
            {"ecn_marked_after_gap", ecn.marked_after_gap},
            {"ecn_not_ect", ecn.not_ect},
            {"buffer_bytes", port.queue_use[q].bytes()},
            {"buffer_bytes_max", port.queue_use[q].bytes_max},
            {"drop", drops_json(port.counters.queue_drops[q],
                                {DropReason::kMtuExceeded, DropReason::kInnerTagExposed, DropReason::kQueueFull,
                                 DropReason::kWred, DropReason::kEgressFull})},
            {"delay", time_histogram_json(queue.delay)}};
}

json group_json(const PortSnapshot& port, unsigned g) {
    const PriorityGroupUse& use = port.group_use[g];
    return {{"reserved_bytes", use.reserved_bytes},
            {"shared_bytes", use.shared_bytes},
            {"shared_bytes_max", use.shared_bytes_max},
            {"shared_limit_bytes", port.group_limit_bytes[g]},
            {"headroom_bytes", use.headroom_bytes},
            {"headroom_bytes_max", use.headroom_bytes_max},
            {"headroom_size_bytes", port.group_headroom_bytes[g]},
            {"drop", drops_json(port.counters.group_drops[g], {DropReason::kGroupFull, DropReason::kHeadroomFull})},
            {"congested", use.congested}};
}

template <typename F>
json by_index(unsigned count, F&& make) {
    json object = json::object();
    for (unsigned i = 0; i < count; ++i) object[std::to_string(i)] = make(i);
    return object;
}

json rx_json(const PortSnapshot& port) {
    json rx = traffic_json(port.counters.rx);
    rx["mac_control"] = port.counters.rx_mac_control;
    rx["flooded"] = port.counters.flooded;
    rx["learn_refused"] = port.counters.learn_refused;
    rx["rx_hold_ns"] = port.rx_hold_ns;
    rx["no_buffer_polls"] = port.ethdev.rx_no_buffer;
    rx["multi_segment"] = port.ethdev.rx_multi_segment;
    rx["peer_lost_in_burst"] = port.ethdev.peer_lost_in_burst;
    return rx;
}

json tx_json(const PortSnapshot& port) {
    json tx = traffic_json(port.counters.tx);
    tx["sent_packets"] = port.tx.tx_packets;
    tx["sent_bytes"] = port.tx.tx_bytes;
    tx["tx_ring_full"] = port.tx.tx_ring_full;
    tx["link_down"] = port.tx.link_down;
    tx["backlog_packets"] = port.backlog_packets;
    tx["backlog_bytes"] = port.backlog_bytes;
    tx["backlog_bytes_max"] = port.egress.backlog_bytes_max;
    return tx;
}

json fault_json(const CounterSet<FaultEvent>& counters) {
    json events = json::object();
    counters.for_each([&events](std::string_view name, std::uint64_t count) { events[std::string(name)] = count; });
    return events;
}

json worker_json(const Snapshot& snapshot) {
    json worker = loop_counters_json(snapshot.worker.loop);
    worker["busy_iterations"] = snapshot.worker.busy_iterations;
    worker["sleeps"] = snapshot.sleeps;
    worker["link_changes"] = snapshot.worker.link_changes;
    worker["packets_free"] = snapshot.packets_free;
    worker["packets_denied"] = snapshot.packets_denied;
    return worker;
}

json port_counters_json(const PortSnapshot& port, Instant now) {
    json drops = json::object();
    for (std::size_t i = 0; i < kDropReasons; ++i) drops[std::string(kDropLabels[i])] = port.counters.drops[i];
    return {{"rx", rx_json(port)},
            {"tx", tx_json(port)},
            {"priority", priority_json(port.counters)},
            {"roce_in_lossy_class", unprotected_json(port.counters)},
            {"drop", std::move(drops)},
            {"pause", flow_control_json(port.flow_control, port.counters.pause_without_packet, now)},
            {"queue", by_index(kQueues, [&](unsigned q) { return queue_json(port, q); })},
            {"priority_group", by_index(kPriorityGroups, [&](unsigned g) { return group_json(port, g); })},
            {"fault", {{"rx", fault_json(port.rx_fault)}, {"tx", fault_json(port.tx_fault)}}},
            {"device", {{"restarts", port.ethdev.restarts}}}};
}

}  // namespace

void take_snapshot(Snapshot& snapshot, const Switch& core, const IoPorts& ports, const Worker& worker,
                   const MbufPool& pool) {
    for (const auto& port : ports.ports) take_port(snapshot.ports[port->id], core, *port);
    snapshot.now = worker.now();
    snapshot.pool_limits = core.buffers().limits().pools;
    for (std::size_t i = 0; i < snapshot.pool_limits.size(); ++i) snapshot.pools.push_back(core.buffers().pool(i));
    snapshot.fdb = core.fdb().counters();
    snapshot.fdb_size = core.fdb().size();
    snapshot.worker = worker.counters();
    snapshot.sleeps = worker.sleeps();
    snapshot.packets_free = pool.available();
    snapshot.packets_denied = pool.alloc_failures();
}

json ports_json(const Snapshot& snapshot) {
    json ports = json::array();
    for (const PortSnapshot& port : snapshot.ports) {
        ports.push_back({{"name", port.config.name},
                         {"link_up", port.link_up},
                         {"admin_up", port.config.admin_up && port.open},
                         {"speed_bps", port.config.speed_bps},
                         {"mtu", port.config.mtu_bytes},
                         {"devargs", port.device.devargs},
                         {"role", port.device.role == PortDevice::Role::kHost ? "host" : "switch"}});
    }
    return ports;
}

json counters_json(const Snapshot& snapshot) {
    json ports = json::object();
    for (const PortSnapshot& port : snapshot.ports) ports[port.config.name] = port_counters_json(port, snapshot.now);
    json pools = json::object();
    for (std::size_t i = 0; i < snapshot.pools.size(); ++i) {
        const PoolUse& pool = snapshot.pools[i];
        const PoolLimits& limits = snapshot.pool_limits[i];
        pools[limits.name] = {{"shared_bytes", pool.shared_bytes},
                              {"shared_bytes_max", pool.shared_bytes_max},
                              {"shared_size_bytes", limits.shared_bytes},
                              {"headroom_bytes", pool.headroom_bytes},
                              {"headroom_bytes_max", pool.headroom_bytes_max},
                              {"headroom_size_bytes", limits.headroom_bytes}};
    }
    return {{"ports", std::move(ports)},
            {"pools", std::move(pools)},
            {"fdb",
             {{"entries", snapshot.fdb_size},
              {"learnt", snapshot.fdb.learnt},
              {"moved", snapshot.fdb.moved},
              {"aged", snapshot.fdb.aged},
              {"full", snapshot.fdb.full}}},
            {"worker", worker_json(snapshot)}};
}

json fdb_json(const Snapshot& snapshot) {
    json list = json::array();
    for (const Fdb::Entry& entry : snapshot.stations) {
        list.push_back({{"mac", to_string(entry.mac)},
                        {"vlan", entry.vlan},
                        {"port", snapshot.ports[entry.port].config.name},
                        {"age_s", entry.age.ps / seconds(1).ps}});
    }
    return list;
}

json fdb_telemetry_json(const Snapshot& snapshot) {
    constexpr std::size_t kShown = 200;  // a dictionary of DPDK 22.11's telemetry holds 256 entries
    const json list = fdb_json(snapshot);
    json object{{"size", list.size()}};
    for (std::size_t i = 0; i < std::min(list.size(), kShown); ++i) object["station_" + std::to_string(i)] = list[i];
    return object;
}

}  // namespace vroce::sw
