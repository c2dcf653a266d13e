// Stage: reads addresses, tags and EtherType, and counts the frame as received. The only place that checks lengths.
#pragma once

#include "switch/core/frame.hpp"

namespace vroce::sw {

enum class ParseExit : std::uint8_t { kParsed, kTooShort };

/// One frame; fills everything but `outputs`.
ParseExit parse_frame(Frame& frame);

void parse(Burst& burst);

}  // namespace vroce::sw
