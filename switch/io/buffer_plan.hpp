// The buffer limits of the switch as it runs: what its ports' speeds, cables, MTUs and receive rings need.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/fault/fault_settings.hpp"
#include "pfc/headroom.hpp"
#include "switch/core/switch_config.hpp"

namespace vroce::sw {

/// What a lossless priority group of this port has to hold after it has asked for pause; `extra_delay` is that of a
/// fault which counts as cable.
[[nodiscard]] Headroom headroom_of(const PortConfig& port, std::uint32_t cable_m, Duration extra_delay = {});

/// Fills config.buffer_limits, or says why the buffers do not fit. Returns a line for each headroom that was raised.
[[nodiscard]] Result<std::vector<std::string>> plan_port_buffers(SwitchConfig& config);

/// A delay of a fault counts as cable: a line for each lossless priority group of the port, with the headroom that the
/// link needs now and the one that the group has. Empty without such a delay or such groups.
[[nodiscard]] std::vector<std::string> delay_notes(const SwitchConfig& config, PortId port,
                                                   const FaultRequest& request);

}  // namespace vroce::sw
