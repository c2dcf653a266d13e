// Stage: finds the ports that a frame leaves by: one for a known station, all members of the VLAN otherwise.
#pragma once

#include "switch/core/frame.hpp"
#include "switch/l2/fdb.hpp"
#include "switch/l2/vlan_table.hpp"

namespace vroce::sw {

enum class LookupExit : std::uint8_t { kForward, kFlood, kSamePort, kPortDown, kNoMember };

/// Writes frame.outputs; `usable` are the ports that are up.
LookupExit lookup_outputs(Instant now, PortId in_port, Frame& frame, const Fdb& fdb, const VlanTable& vlans,
                          PortSet usable);

void lookup(Burst& burst, const Fdb& fdb, const VlanTable& vlans, PortSet usable);

}  // namespace vroce::sw
