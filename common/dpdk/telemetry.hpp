// Reading by DPDK's telemetry socket (design D9): a command answers with the JSON that a callback makes.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/result.hpp"

namespace vroce {

/// Registers `command` ("/vroce/counters"). The producer is called from DPDK's telemetry thread, which lives to the
/// process's end: it must not outlive what it reads. Objects and arrays may nest as deep as DPDK allows; in names,
/// anything but letters, digits and '/' becomes '_'; texts and names are cut at 127 bytes, objects at 256 entries,
/// arrays at 512. At most 16 commands a process.
Status add_telemetry(const std::string& command, const std::string& help, std::function<nlohmann::json()> producer);

}  // namespace vroce
