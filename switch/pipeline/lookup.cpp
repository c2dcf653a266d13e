// Forwarding decision (802.1Q 8.6.3): destination address and VLAN to a set of ports.
#include "switch/pipeline/lookup.hpp"

namespace vroce::sw {

LookupExit lookup_outputs(Instant now, PortId in_port, Frame& frame, const Fdb& fdb, const VlanTable& vlans,
                          PortSet usable) {
    const std::uint16_t vlan = frame.packet->meta.vlan;
    if (!is_multicast(frame.destination)) {
        const PortId port = fdb.lookup(now, vlan, frame.destination);
        if (port == in_port) return LookupExit::kSamePort;
        if (port != Fdb::kUnknown) {
            frame.outputs = port_bit(port);
            return contains(usable, port) ? LookupExit::kForward : LookupExit::kPortDown;
        }
    }
    frame.outputs = vlans.members(vlan) & usable & ~port_bit(in_port);
    return frame.outputs == 0 ? LookupExit::kNoMember : LookupExit::kFlood;
}

void lookup(Burst& burst, const Fdb& fdb, const VlanTable& vlans, PortSet usable) {
    burst.filter([&](Frame& frame) {
        switch (lookup_outputs(burst.now(), burst.in_port(), frame, fdb, vlans, usable)) {
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
        }
        return Verdict::next();
    });
}

}  // namespace vroce::sw
