// Starts DPDK's environment for one process.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace vroce {

struct EalOptions {
    std::string name;           ///< of the process; file prefix of its runtime directory
    std::string run_dir;        ///< the process's own directory; DPDK's runtime files (telemetry socket) go below it
    int cpu = -1;               ///< where the worker runs; -1: wherever the kernel likes
    unsigned memory_mib = 128;  ///< in hugepages; of ordinary pages half as much again is reserved
    bool no_huge = false;
};

/// Call once, before any other DPDK function. Without hugepages it goes on with ordinary pages and says so in one line
/// on standard error. Errors are one line.
Status start_eal(const EalOptions& options);
/// The last call before exit; memory and devices go with the process.
void stop_eal();

}  // namespace vroce
