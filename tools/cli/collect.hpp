// Asks all running processes of a kind the same question.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/cli/command.hpp"

namespace vroce::cli {

enum class Who { all, switches, nics };

/// {"sw1": answer, "h1": answer, …} of every process of the kind; or of the one that `on` names.
struct Collected {
    nlohmann::json answers = nlohmann::json::object();
    std::string error;
};

Collected collect(const Arguments& arguments, Who who, const std::string& command);

}  // namespace vroce::cli
