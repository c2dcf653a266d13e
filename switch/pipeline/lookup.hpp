// Stage: finds the ports that a frame leaves by: one for a known station, all members of the VLAN otherwise.
// In a lossless priority nothing is flooded but multicast, whose members are all of the VLAN's as long as nobody tells
// more: a flood would be paused by the slowest port of the VLAN.
#pragma once

#include "switch/core/frame.hpp"
#include "switch/l2/fdb.hpp"
#include "switch/l2/vlan_table.hpp"

namespace vroce::sw {

enum class LookupExit : std::uint8_t {
    kForward,
    kFlood,
    kSamePort,
    kPortDown,
    kNoMember,
    kUnknownLossless,
    kBroadcastLossless
};

/// Writes frame.outputs; `usable` are the ports that are up, `lossless` (bit p: priority p) is the ingress port's.
LookupExit lookup_outputs(Instant now, PortId in_port, Frame& frame, const Fdb& fdb, const VlanTable& vlans,
                          PortSet usable, std::uint8_t lossless = 0);

void lookup(Burst& burst, const Fdb& fdb, const VlanTable& vlans, PortSet usable, std::uint8_t lossless);

}  // namespace vroce::sw
