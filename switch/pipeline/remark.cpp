// Traffic class to PCP and DSCP.
#include "switch/pipeline/remark.hpp"

#include "switch/core/ethernet.hpp"
#include "switch/core/ip_header.hpp"

namespace vroce::sw {
namespace {

void write_pcp(std::uint8_t* tci, std::uint8_t pcp) {
    write_be16(tci, static_cast<std::uint16_t>((read_be16(tci) & ~kPcpMask) | pcp << kPcpShift));
}

}  // namespace

void remark_frame(const Departure& departure, const RemarkMaps& maps, bool leaves_tagged) {
    Packet& packet = *departure.packet;
    const std::uint8_t tc = packet.meta.traffic_class;
    std::uint8_t* tci = packet.data + kTypeOffset + 2;
    if (leaves_tagged && maps.pcp) {
        write_pcp(tci, maps.tc_to_pcp[tc]);
    } else if (leaves_tagged && !departure.frame->tagged) {
        write_pcp(tci, packet.meta.priority);
    }
    if (maps.dscp && packet.meta.l3_offset != 0) write_dscp(packet.data + packet.meta.l3_offset, maps.tc_to_dscp[tc]);
}

void remark(Departures& departures, const SwitchConfig& config) {
    for (const Departure& departure : departures.list()) {
        const bool tagged = config.vlans.leaves_tagged(departure.packet->meta.vlan, departure.port());
        remark_frame(departure, config.ports[departure.port()].qos.remark, tagged);
    }
}

}  // namespace vroce::sw
