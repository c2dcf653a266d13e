// The way of a burst through the switch.
#pragma once

#include <span>

#include "common/base/random.hpp"
#include "switch/core/departures.hpp"
#include "switch/core/frame.hpp"
#include "switch/core/port_state.hpp"
#include "switch/core/switch_config.hpp"
#include "switch/l2/fdb.hpp"
#include "switch/mmu/buffer_manager.hpp"

namespace vroce::sw {

/// What the stages read and write; all of it belongs to the switch.
struct PipelineTables {
    const SwitchConfig& config;
    Fdb& fdb;
    std::span<PortState> ports;
    PortSet usable;  ///< ports that are up
    BufferManager& buffers;
    Random& random;
};

/// Ends with every frame of the burst in a queue or released.
void run_pipeline(Burst& burst, Departures& departures, const PipelineTables& tables);

}  // namespace vroce::sw
