// The configuration as the core sees it: an immutable snapshot, exchanged whole between two bursts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "switch/core/buffer_config.hpp"
#include "switch/core/limits.hpp"
#include "switch/core/qos_config.hpp"
#include "switch/l2/mac.hpp"
#include "switch/l2/vlan_table.hpp"
#include "switch/mmu/limits.hpp"

namespace vroce::sw {

struct PortConfig {
    std::string name;
    std::uint64_t speed_bps = 10'000'000'000;
    std::uint32_t mtu_bytes = 9'100;  ///< payload of a frame; Ethernet header and up to two tags come on top
    bool admin_up = true;
    std::uint64_t egress_limit_bytes = std::uint64_t{4} << 20;
    /// Small frames cost a whole buffer each, as cells do in a switch: bytes alone would let them empty the pool.
    std::uint32_t egress_limit_packets = 4'096;
    PortQosConfig qos;
};

struct SwitchConfig {
    std::vector<PortConfig> ports;  ///< a port's index is its PortId; at most kMaxPorts
    VlanTable vlans;
    Duration fdb_ageing = seconds(300);
    /// Port p sends its pause frames from mac + p. Locally administered unless the file says otherwise.
    Mac mac = 0x0276'726f'6300;
    BufferConfig buffers;
    /// What is made of `buffers` for the ports as they are (mmu/plan.hpp). Empty: nothing is accounted.
    BufferLimits buffer_limits;
    /// Some port has a lossless priority, so that RoCE outside of one is worth a count. Kept beside the ports because
    /// it is asked for each frame.
    bool pfc_in_use = false;
};

using ConfigSnapshot = std::shared_ptr<const SwitchConfig>;

}  // namespace vroce::sw
