// Takes frames to the bridge group's reserved addresses out of the burst (802.1Q table 8-1).
#include "switch/pipeline/link_local.hpp"

namespace vroce::sw {

void link_local(Burst& burst) {
    burst.filter([](const Frame& frame) {
        return recognise_link_local(frame) == LinkLocalExit::kOther ? Verdict::next()
                                                                    : Verdict::drop(DropReason::kLinkLocal);
    });
}

}  // namespace vroce::sw
