// VLAN classification and ingress filtering (802.1Q 6.9, 8.6.2).
#include "switch/pipeline/classify.hpp"

#include "switch/core/ethernet.hpp"

namespace vroce::sw {

ClassifyExit classify_frame(Frame& frame, const VlanTable& vlans, PortId in_port) {
    std::uint16_t vid = frame.tci & kVidMask;  // 0 when untagged: as a priority tag, it belongs to the native VLAN
    if (vid == kReservedVlan) return ClassifyExit::kReservedVid;
    if (vid == 0) {
        vid = vlans.native(in_port);
        if (vid == 0) return ClassifyExit::kNoNative;
    } else if (!vlans.is_member(vid, in_port)) {
        return ClassifyExit::kFiltered;
    }
    frame.packet->meta.vlan = vid;
    return ClassifyExit::kClassified;
}

void classify(Burst& burst, const VlanTable& vlans) {
    burst.filter([&burst, &vlans](Frame& frame) {
        switch (classify_frame(frame, vlans, burst.in_port())) {
            case ClassifyExit::kClassified:
                break;
            case ClassifyExit::kReservedVid:
                return Verdict::drop(DropReason::kVlanReserved);
            case ClassifyExit::kFiltered:
                return Verdict::drop(DropReason::kVlanFiltered);
            case ClassifyExit::kNoNative:
                return Verdict::drop(DropReason::kNoNativeVlan);
        }
        return Verdict::next();
    });
}

}  // namespace vroce::sw
