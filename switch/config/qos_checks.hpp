// What a port's priorities must not be: each table may be right and all of them together still lose frames.
#pragma once

#include <span>

#include "switch/config/loader.hpp"
#include "switch/config/reader.hpp"

namespace vroce::sw {

/// Refuses contradictions, warns about what works but is hardly meant.
[[nodiscard]] Status check_qos(TableReader& reader, std::span<const PortDevice> devices, const SwitchConfig& core);

}  // namespace vroce::sw
