// Whether a storm of pauses would do what its user asks for.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"
#include "pfc/flow_control.hpp"

namespace vroce {

/// rx: bit p for a storm on priority p as if it came from the peer; tx: one sent to the peer. Refused when the port
/// has no flow control, or PFC without one of the priorities: such a storm would be silent. 802.3x pauses the whole
/// port, whatever the priority.
Status check_storm(const FlowControlSettings& settings, std::uint8_t rx_priorities, std::uint8_t tx_priorities);

}  // namespace vroce
