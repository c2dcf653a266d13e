// Stage: puts a frame into its output port's queue, if the port's limits in bytes and packets leave room. The buffer
// manager's queue charge is taken here.
#pragma once

#include "switch/core/departures.hpp"

namespace vroce::sw {

enum class EnqueueExit : std::uint8_t { kQueued, kFull };

/// When queued, the packet belongs to the port.
EnqueueExit enqueue_frame(const Departure& departure, PortState& port);

/// The last stage: no departure is left.
void enqueue(Departures& departures, std::span<PortState> ports);

}  // namespace vroce::sw
