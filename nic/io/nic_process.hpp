// A NIC process from its options to its end: run directory, DPDK, ports, interfaces, engine, worker, control; and back.
#pragma once

#include "common/base/result.hpp"
#include "nic/control/options.hpp"

namespace vroce::nic {

/// Runs until a signal ends it. Says in one line when it is ready.
Status run_nic(const NicOptions& options);

}  // namespace vroce::nic
