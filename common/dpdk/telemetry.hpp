// Reading by DPDK's telemetry socket (design D9): a command answers with the JSON that a callback makes.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/result.hpp"

namespace vroce {

/// Registers `command` ("/vroce/counters"). The producer is called from DPDK's telemetry thread. Nested objects and
/// arrays of numbers and strings are passed on as they are; at most 16 commands a process.
Status add_telemetry(const std::string& command, const std::string& help, std::function<nlohmann::json()> producer);

}  // namespace vroce
