// Stage: finds the VLAN that a frame travels in, and refuses what its port may not send (ingress filtering is always
// on). Only the outer tag counts, so a second tag never takes a frame into another VLAN.
#pragma once

#include "switch/core/frame.hpp"
#include "switch/l2/vlan_table.hpp"

namespace vroce::sw {

enum class ClassifyExit : std::uint8_t { kClassified, kReservedVid, kFiltered, kNoNative };

/// Writes packet->meta.vlan.
ClassifyExit classify_frame(Frame& frame, const VlanTable& vlans, PortId in_port);

void classify(Burst& burst, const VlanTable& vlans);

}  // namespace vroce::sw
