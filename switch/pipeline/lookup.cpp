// Forwarding decision (802.1Q 8.6.3): destination address and VLAN to a set of ports.
#include "switch/pipeline/lookup.hpp"

namespace vroce::sw {

LookupExit lookup_outputs(Instant now, PortId in_port, Frame& frame, const Fdb& fdb, const VlanTable& vlans,
                          PortSet usable, std::uint8_t lossless) {
    const std::uint16_t vlan = frame.packet->meta.vlan;
    if (!is_multicast(frame.destination)) {
        const PortId port = fdb.lookup(now, vlan, frame.destination);
        if (port == in_port) return LookupExit::kSamePort;
        if (port != Fdb::kUnknown) {
            frame.outputs = port_bit(port);
            return contains(usable, port) ? LookupExit::kForward : LookupExit::kPortDown;
        }
    }
    if ((lossless >> frame.packet->meta.priority & 1) != 0) [[unlikely]] {
        if (!is_multicast(frame.destination)) return LookupExit::kUnknownLossless;
        if (frame.destination == kBroadcast) return LookupExit::kBroadcastLossless;
    }
    frame.outputs = vlans.members(vlan) & usable & ~port_bit(in_port);
    return frame.outputs == 0 ? LookupExit::kNoMember : LookupExit::kFlood;
}

void lookup(Burst& burst, const Fdb& fdb, const VlanTable& vlans, PortSet usable, std::uint8_t lossless) {
    burst.filter([&](Frame& frame) {
        switch (lookup_outputs(burst.now(), burst.in_port(), frame, fdb, vlans, usable, lossless)) {
            case LookupExit::kForward:
                break;
            case LookupExit::kFlood:
                ++burst.counters().flooded;
                break;
            case LookupExit::kSamePort:
                return Verdict::drop(DropReason::kSamePort);
            case LookupExit::kPortDown:
                return Verdict::drop(DropReason::kPortDown);
            case LookupExit::kNoMember:
                return Verdict::drop(DropReason::kNoMember);
            case LookupExit::kUnknownLossless:
                return Verdict::drop(DropReason::kUnknownUnicastLossless);
            case LookupExit::kBroadcastLossless:
                return Verdict::drop(DropReason::kBroadcastLossless);
        }
        return Verdict::next();
    });
}

}  // namespace vroce::sw
