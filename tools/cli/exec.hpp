// Becoming another program inside an endpoint's view of the machine.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command.hpp"
#include "tools/lab/lab_state.hpp"

namespace vroce::cli {

/// Host's network namespace, its own sysfs, the endpoint's device; then the command. Returns only on failure.
Outcome exec_on_host(const tools::LabPlace& place, const std::vector<std::string>& command);

}  // namespace vroce::cli
