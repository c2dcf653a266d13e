// The configuration as the core sees it: an immutable snapshot, exchanged whole between two bursts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "switch/core/limits.hpp"
#include "switch/l2/vlan_table.hpp"

namespace vroce::sw {

struct PortConfig {
    std::string name;
    std::uint64_t speed_bps = 10'000'000'000;
    std::uint32_t mtu_bytes = 9'100;  ///< payload of a frame; Ethernet header and up to two tags come on top
    bool admin_up = true;
    std::uint64_t egress_limit_bytes = std::uint64_t{4} << 20;
    /// Small frames cost a whole buffer each, as cells do in a switch: bytes alone would let them empty the pool.
    std::uint32_t egress_limit_packets = 4'096;
};

struct SwitchConfig {
    std::vector<PortConfig> ports;  ///< a port's index is its PortId; at most kMaxPorts
    VlanTable vlans;
    Duration fdb_ageing = seconds(300);
};

using ConfigSnapshot = std::shared_ptr<const SwitchConfig>;

}  // namespace vroce::sw
