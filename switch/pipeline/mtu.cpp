// Burst form of the MTU stage.
#include "switch/pipeline/mtu.hpp"

namespace vroce::sw {

void mtu(Departures& departures, std::span<const PortConfig> configs, std::span<PortState> ports) {
    departures.filter(ports, [configs](const Departure& departure) {
        const MtuExit exit = check_mtu(departure, configs[departure.port()].mtu_bytes);
        return exit == MtuExit::kFits ? Verdict::next() : Verdict::drop(DropReason::kMtuExceeded);
    });
}

}  // namespace vroce::sw
