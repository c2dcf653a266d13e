// Stage: takes room in the buffer for each copy, or refuses it. What is admitted is charged until it leaves its queue.
#pragma once

#include <optional>

#include "common/base/random.hpp"
#include "switch/core/departures.hpp"
#include "switch/mmu/buffer_manager.hpp"

namespace vroce::sw {

enum class AdmitExit : std::uint8_t { kAdmitted, kGroupFull, kHeadroomFull, kQueueFull, kEarlyDrop };

/// `first`: an admitted copy of the same frame, nullptr: there is none yet.
AdmitExit admit_copy(const Departure& departure, Packet* first, const PortState& out, BufferManager& buffers,
                     Random& random);

void admit(Departures& departures, BufferManager& buffers, Random& random, std::span<PortState> ports);

}  // namespace vroce::sw
