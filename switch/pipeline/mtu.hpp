// Stage: what is larger than the output port's MTU does not leave. Tags do not count against it.
#pragma once

#include "switch/core/departures.hpp"
#include "switch/core/switch_config.hpp"

namespace vroce::sw {

enum class MtuExit : std::uint8_t { kFits, kTooLarge };

inline MtuExit check_mtu(const Departure& departure, std::uint32_t mtu_bytes) {
    return departure.packet->length <= mtu_bytes + departure.frame->header_bytes ? MtuExit::kFits : MtuExit::kTooLarge;
}

void mtu(Departures& departures, std::span<const PortConfig> configs, std::span<PortState> ports);

}  // namespace vroce::sw
