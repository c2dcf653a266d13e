// Stage: admits each copy and puts it into its output port's queue at once, so that the limits and WRED see the frames
// of the same burst before it. One that the buffer manager has not charged has to fit into the port's limits in bytes
// and packets.
#pragma once

#include "switch/pipeline/admit.hpp"

namespace vroce::sw {

enum class EnqueueExit : std::uint8_t { kQueued, kFull };

/// When queued, the packet belongs to the port.
EnqueueExit enqueue_frame(const Departure& departure, PortState& port);

/// The last stage: no departure is left.
void admit_and_enqueue(Departures& departures, BufferManager& buffers, Random& random, std::span<PortState> ports);

}  // namespace vroce::sw
