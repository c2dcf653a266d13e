// What the switch keeps for each port: its counters and its way out.
#pragma once

#include <memory>

#include "common/egress/port_tx.hpp"
#include "switch/core/port_counters.hpp"

namespace vroce::sw {

struct PortState {
    PortCounters counters;
    std::uint32_t limit_packets = 0;
    std::unique_ptr<PortTx> tx;  ///< none: the port has no device and is never up
};

}  // namespace vroce::sw
