// Stage: gives a frame the VLAN tag that its output port wants. Priority (PCP) and DEI stay as they came.
// Moves packet->meta.l3_offset with the header.
#pragma once

#include "switch/core/departures.hpp"
#include "switch/l2/vlan_table.hpp"

namespace vroce::sw {

enum class RetagExit : std::uint8_t { kUnchanged, kRenumbered, kPushed, kPopped, kInnerTagExposed };

/// Rewrites departure.packet; precondition: 4 bytes of headroom.
RetagExit retag_frame(const Departure& departure, bool leaves_tagged);

void retag(Departures& departures, const VlanTable& vlans, std::span<PortState> ports);

}  // namespace vroce::sw
