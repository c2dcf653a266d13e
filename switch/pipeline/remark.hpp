// Stage: marks what leaves by its traffic class. Where the output port has no map, PCP, DEI and DSCP stay as they came,
// and a tag that the retag stage has pushed gets the frame's priority as its PCP.
#pragma once

#include "switch/core/departures.hpp"
#include "switch/core/qos_config.hpp"
#include "switch/core/switch_config.hpp"

namespace vroce::sw {

/// Rewrites departure.packet, whose tag is already the one that leaves. `leaves_tagged` as for retag_frame.
void remark_frame(const Departure& departure, const RemarkMaps& maps, bool leaves_tagged);

void remark(Departures& departures, const SwitchConfig& config);

}  // namespace vroce::sw
