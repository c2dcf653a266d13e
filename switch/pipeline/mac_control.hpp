// Stage: MAC control frames end here. They belong to the link, not to a VLAN: never forwarded, never learnt from,
// whatever their source (peers send pause frames from address zero too). Pause is heard here.
#pragma once

#include "pfc/flow_control.hpp"
#include "switch/core/frame.hpp"

namespace vroce::sw {

enum class MacControlExit : std::uint8_t { kOther, kControl, kTagged };

MacControlExit recognise_mac_control(const Frame& frame);

void mac_control(Burst& burst, FlowControl& flow_control);

}  // namespace vroce::sw
