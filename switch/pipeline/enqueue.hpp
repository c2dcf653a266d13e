// Stage: puts a frame into its output port's queue. One that the buffer manager has not charged has to fit into the
// port's limits in bytes and packets.
#pragma once

#include "switch/core/departures.hpp"

namespace vroce::sw {

enum class EnqueueExit : std::uint8_t { kQueued, kFull };

/// When queued, the packet belongs to the port.
EnqueueExit enqueue_frame(const Departure& departure, PortState& port);

/// The last stage: no departure is left.
void enqueue(Departures& departures, std::span<PortState> ports);

}  // namespace vroce::sw
