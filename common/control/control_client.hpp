// Asks a process's control socket one thing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace vroce {

/// Sends one command and waits for its answer. The error is one line: no such socket, no permission, no answer within
/// `timeout`, or what the process said.
Result<nlohmann::json> control_call(const std::string& path, const std::string& command,
                                    const nlohmann::json& args = nlohmann::json::object(),
                                    Duration timeout = seconds(5));

}  // namespace vroce
