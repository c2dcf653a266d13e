// Pushes, pops and renumbers the outer C-tag (802.1Q 8.6.4 and 9.6).
#include "switch/pipeline/retag.hpp"

#include <cstring>

#include "switch/core/ethernet.hpp"

namespace vroce::sw {
namespace {

/// Later stages mark the IP header, so its place has to follow.
void shift_l3(Packet& packet, int bytes) {
    std::uint16_t& offset = packet.meta.l3_offset;
    if (offset != 0) offset = static_cast<std::uint16_t>(offset + bytes);
}

void push_tag(Packet& packet, std::uint16_t tci) {
    std::uint8_t* start = packet.push(kTagBytes);
    std::memmove(start, start + kTagBytes, kTypeOffset);
    write_be16(start + kTypeOffset, kTypeCTag);
    write_be16(start + kTypeOffset + 2, tci);
    shift_l3(packet, kTagBytes);
}

void pop_tag(Packet& packet) {
    std::memmove(packet.data + kTagBytes, packet.data, kTypeOffset);
    packet.pull(kTagBytes);
    shift_l3(packet, -static_cast<int>(kTagBytes));
}

}  // namespace

RetagExit retag_frame(const Departure& departure, bool leaves_tagged) {
    const Frame& frame = *departure.frame;
    Packet& packet = *departure.packet;
    if (!leaves_tagged) {
        if (!frame.tagged) return RetagExit::kUnchanged;
        // The next bridge would take the inner tag for the VLAN: the classic way to hop out of a native VLAN.
        if (frame.inner_tag) return RetagExit::kInnerTagExposed;
        pop_tag(packet);
        return RetagExit::kPopped;
    }
    if (!frame.tagged) {
        push_tag(packet, packet.meta.vlan);
        return RetagExit::kPushed;
    }
    if ((frame.tci & kVidMask) == packet.meta.vlan) return RetagExit::kUnchanged;
    write_be16(packet.data + kTypeOffset + 2, static_cast<std::uint16_t>((frame.tci & ~kVidMask) | packet.meta.vlan));
    return RetagExit::kRenumbered;
}

void retag(Departures& departures, const VlanTable& vlans, std::span<PortState> ports) {
    departures.filter(ports, [&vlans](const Departure& departure) {
        const bool tagged = vlans.leaves_tagged(departure.packet->meta.vlan, departure.port());
        return retag_frame(departure, tagged) == RetagExit::kInnerTagExposed
                   ? Verdict::drop(DropReason::kInnerTagExposed)
                   : Verdict::next();
    });
}

}  // namespace vroce::sw
