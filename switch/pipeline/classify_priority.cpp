// Priority of a frame: PCP by 802.1Q 6.9.3, DSCP by RFC 2474.
#include "switch/pipeline/classify_priority.hpp"

#include "switch/core/ethernet.hpp"
#include "switch/core/ip_header.hpp"

namespace vroce::sw {
namespace {

constexpr std::uint16_t kTypeRoceV1 = 0x8915;
constexpr std::uint16_t kRoceV2Port = 4791;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint32_t kUdpBytes = 8;
constexpr std::uint8_t kOpcodeCnp = 0x81;  // first byte of the BTH, which follows UDP

/// EtherType behind all tags that the parser went over.
std::uint16_t inner_type(const Packet& packet, std::uint8_t header_bytes) {
    return read_be16(packet.data + header_bytes - 2);
}

std::uint16_t find_ip(const Frame& frame) {
    const Packet& packet = *frame.packet;
    const std::uint16_t type = inner_type(packet, frame.header_bytes);
    const std::uint8_t* header = packet.data + frame.header_bytes;
    const std::uint32_t bytes = packet.length - frame.header_bytes;
    const bool whole = (type == kTypeIpv4 && holds_ipv4(header, bytes)) ||  //
                       (type == kTypeIpv6 && holds_ipv6(header, bytes));
    return whole ? frame.header_bytes : std::uint16_t{0};
}

PriorityExit deciding_mark(Trust trust, bool tagged, bool ip) {
    const PriorityExit by_pcp = tagged ? PriorityExit::kByPcp : PriorityExit::kPortDefault;
    const PriorityExit by_dscp = ip ? PriorityExit::kByDscp : PriorityExit::kPortDefault;
    switch (trust) {
        case Trust::kPort:
            break;
        case Trust::kPcp:
            return by_pcp;
        case Trust::kDscp:
            return by_dscp;
        case Trust::kDscpThenPcp:
            return ip ? by_dscp : by_pcp;
        case Trust::kPcpThenDscp:
            return tagged ? by_pcp : by_dscp;
    }
    return PriorityExit::kPortDefault;
}

void count_unprotected_roce(PortCounters& counters, const Frame& frame, PriorityExit mark) {
    const Packet& packet = *frame.packet;
    const RoceKind kind = recognise_roce(packet, frame.header_bytes);
    if (kind == RoceKind::kNone || kind == RoceKind::kCongestionNotification) return;
    if (mark == PriorityExit::kByPcp || kind == RoceKind::kV1) {
        ++counters.roce_in_lossy_class_pcp[frame.tci >> kPcpShift];
    } else {
        ++counters.roce_in_lossy_class_dscp[read_dscp(packet.data + packet.meta.l3_offset)];
    }
}

}  // namespace

PriorityExit classify_priority_frame(Frame& frame, const ClassMaps& maps) {
    Meta& meta = frame.packet->meta;
    meta.l3_offset = find_ip(frame);
    const PriorityExit mark = deciding_mark(maps.trust, frame.tagged, meta.l3_offset != 0);
    std::uint8_t tc = maps.default_tc;
    if (mark == PriorityExit::kByPcp) tc = maps.pcp_to_tc[frame.tci >> kPcpShift];
    if (mark == PriorityExit::kByDscp) tc = maps.dscp_to_tc[read_dscp(frame.packet->data + meta.l3_offset)];
    meta.traffic_class = tc;
    meta.priority = maps.tc_to_priority[tc];
    meta.queue = maps.tc_to_queue[tc];
    return mark;
}

RoceKind recognise_roce(const Packet& packet, std::uint8_t header_bytes) {
    if (inner_type(packet, header_bytes) == kTypeRoceV1) return RoceKind::kV1;
    if (packet.meta.l3_offset == 0) return RoceKind::kNone;
    const std::uint8_t* ip = packet.data + packet.meta.l3_offset;
    const std::uint32_t ip_bytes = ip_header_bytes(ip);
    const bool udp = (is_ipv4(ip) ? ipv4_protocol(ip) : ipv6_next_header(ip)) == kUdp;
    if (!udp || packet.length < packet.meta.l3_offset + ip_bytes + kUdpBytes) return RoceKind::kNone;
    const std::uint8_t* header = ip + ip_bytes;
    if (read_be16(header + 2) != kRoceV2Port) return RoceKind::kNone;
    const bool opcode_there = packet.length > packet.meta.l3_offset + ip_bytes + kUdpBytes;
    return opcode_there && header[kUdpBytes] == kOpcodeCnp ? RoceKind::kCongestionNotification : RoceKind::kV2;
}

void classify_priority(Burst& burst, const PortQosConfig& qos, bool pfc_in_use) {
    PortCounters& counters = burst.counters();
    for (Frame& frame : burst.frames()) {
        const PriorityExit mark = classify_priority_frame(frame, qos.ingress);
        const unsigned priority = frame.packet->meta.priority;
        counters.rx_priority[priority].count(frame.packet->length);
        if (pfc_in_use && !qos.flow_control.lossless(priority)) count_unprotected_roce(counters, frame, mark);
    }
}

}  // namespace vroce::sw
