// The preset "roce": a port as RoCE wants it, in the numbers that NVIDIA's switches have for it.
#pragma once

#include "switch/core/qos_config.hpp"

namespace vroce::sw {

/// Without `pfc` (a peer that does not obey pause) priority 3 keeps its class, and is lossy.
[[nodiscard]] PortQosConfig roce_preset(bool pfc);

}  // namespace vroce::sw
