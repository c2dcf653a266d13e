// Burst form of the replication stage.
#include "switch/pipeline/replicate.hpp"

namespace vroce::sw {

void replicate(Burst& burst, Departures& departures, std::span<PortState> ports) {
    departures.clear();
    const auto no_buffer = [ports](PortId port) { ports[port].counters.drop(DropReason::kNoBuffer); };
    for (const Frame& frame : burst.frames()) static_cast<void>(replicate_frame(frame, departures, no_buffer));
}

}  // namespace vroce::sw
