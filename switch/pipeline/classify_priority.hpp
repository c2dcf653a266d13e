// Stage: finds a frame's traffic class, and with it priority group and egress queue, by the mark that its port trusts.
// Also counts what each priority brings, and RoCE that arrives where it is not protected from loss.
#pragma once

#include "switch/core/frame.hpp"
#include "switch/core/qos_config.hpp"

namespace vroce::sw {

/// What the traffic class came from.
enum class PriorityExit : std::uint8_t { kPortDefault, kByPcp, kByDscp };

/// Writes packet->meta.traffic_class, priority, queue and l3_offset (0 unless a whole IP header is there). Only the
/// outer C-tag's PCP counts, also when its VID is 0; the IP header is found behind at most two tags.
PriorityExit classify_priority_frame(Frame& frame, const ClassMaps& maps);

/// A congestion notification is small, rare and meant to overtake, so it lives in a lossy class by design.
enum class RoceKind : std::uint8_t { kNone, kV1, kV2, kCongestionNotification };
/// EtherType 8915, or UDP to port 4791 right behind the IP header; precondition: l3_offset is written.
RoceKind recognise_roce(const Packet& packet, std::uint8_t header_bytes);

/// `pfc_in_use`: some port of the switch has a lossless priority.
void classify_priority(Burst& burst, const PortQosConfig& qos, bool pfc_in_use);

}  // namespace vroce::sw
