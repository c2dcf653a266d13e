// Stage: the reserved addresses 01:80:c2:00:00:0x are for the neighbour on this link and are not relayed.
#pragma once

#include "switch/core/frame.hpp"

namespace vroce::sw {

enum class LinkLocalExit : std::uint8_t { kOther, kReserved };

inline LinkLocalExit recognise_link_local(const Frame& frame) {
    return is_link_local(frame.destination) ? LinkLocalExit::kReserved : LinkLocalExit::kOther;
}

void link_local(Burst& burst);

}  // namespace vroce::sw
