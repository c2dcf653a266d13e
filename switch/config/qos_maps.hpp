// The tables that map one small number to another, by name, as PORT_QOS_MAP refers to them.
#pragma once

#include "switch/config/reader.hpp"

namespace vroce::sw {

using PcpMap = std::array<std::uint8_t, kPcps>;
using DscpMap = std::array<std::uint8_t, kDscps>;
using TcMap = std::array<std::uint8_t, kTrafficClasses>;
using PriorityMap = std::array<std::uint8_t, kPriorities>;

/// Eight DSCPs a class, in order (RFC 2474 4.2.2).
constexpr DscpMap class_selectors() {
    DscpMap map{};
    for (std::size_t dscp = 0; dscp < kDscps; ++dscp) map[dscp] = static_cast<std::uint8_t>(dscp >> 3);
    return map;
}

struct QosMaps {
    // What an entry does not name is traffic class, priority group or queue 0.
    Named<DscpMap> dscp_to_tc;
    Named<PcpMap> dot1p_to_tc;
    Named<TcMap> tc_to_queue;
    Named<TcMap> tc_to_priority;
    // What it does not name maps to itself.
    Named<PriorityMap> pfc_to_queue;
    Named<PriorityMap> pfc_to_pg;
    // Every class is named: there is no harmless default for what goes out.
    Named<TcMap> tc_to_dscp;
    Named<TcMap> tc_to_dot1p;
};

[[nodiscard]] Result<QosMaps> read_qos_maps(TableReader& reader);

}  // namespace vroce::sw
