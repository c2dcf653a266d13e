// What a port's flow control counts, as JSON for control sockets and telemetry.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "pfc/flow_control.hpp"

namespace vroce {

/// Pause frames and paused time of each priority and of 802.3x, both ways, until `now`. `without_packet`: frames that
/// the owner could not send for want of a packet.
[[nodiscard]] nlohmann::json flow_control_json(const FlowControl& flow, std::uint64_t without_packet, Instant now);

}  // namespace vroce
