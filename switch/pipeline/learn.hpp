// Stage: remembers behind which port the sender lives.
#pragma once

#include "switch/core/frame.hpp"
#include "switch/l2/fdb.hpp"

namespace vroce::sw {

enum class LearnExit : std::uint8_t { kKnown, kLearnt, kMoved, kFull, kInvalidSource };

LearnExit learn_source(Instant now, PortId in_port, const Frame& frame, Fdb& fdb);

void learn(Burst& burst, Fdb& fdb);

}  // namespace vroce::sw
