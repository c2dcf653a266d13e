// Takes MAC control frames (802.3 clause 31) out of the burst.
#include "switch/pipeline/mac_control.hpp"

#include "switch/core/ethernet.hpp"

namespace vroce::sw {

MacControlExit recognise_mac_control(const Frame& frame) {
    const bool control_type = frame.ether_type == kTypeMacControl;
    if (control_type && frame.tagged) return MacControlExit::kTagged;
    return control_type || frame.destination == kMacControlAddress ? MacControlExit::kControl : MacControlExit::kOther;
}

void mac_control(Burst& burst, FlowControl& flow_control) {
    burst.filter([&](const Frame& frame) {
        switch (recognise_mac_control(frame)) {
            case MacControlExit::kOther:
                break;
            case MacControlExit::kTagged:
                return Verdict::drop(DropReason::kTaggedMacControl);
            case MacControlExit::kControl:
                ++burst.counters().rx_mac_control;
                flow_control.receive(burst.now(), frame.packet->bytes());
                return Verdict::consumed();
        }
        return Verdict::next();
    });
}

}  // namespace vroce::sw
