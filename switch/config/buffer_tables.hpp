// BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG, BUFFER_QUEUE, CABLE_LENGTH, and what a lossless port gets where the file is
// silent, since a priority with PFC and no headroom would lose frames.
#pragma once

#include <span>

#include "switch/config/loader.hpp"
#include "switch/config/reader.hpp"

namespace vroce::sw {

/// Fills core.buffers; the ports' qos is loaded. `preset`: buffers are wanted also without a word in the file. Refuses
/// dangling names, thresholds that contradict each other, pools that promise more than they have.
[[nodiscard]] Status load_buffers(TableReader& reader, bool preset, std::span<const PortDevice> devices,
                                  SwitchConfig& core);

}  // namespace vroce::sw
