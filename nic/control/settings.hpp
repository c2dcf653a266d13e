// The table of all settings: key, what is allowed, how a value is taken. Help text, parser and error messages come from
// it.
#pragma once

#include <string>
#include <vector>

#include "nic/control/options.hpp"

namespace vroce::nic {

template <typename Target>
struct Setting {
    const char* key;
    const char* meaning;
    const char* allowed;
    bool required;
    bool repeated;
    /// False when the text is not allowed.
    bool (*take)(Target& target, const std::string& text);
};

[[nodiscard]] const std::vector<Setting<NicOptions>>& nic_settings();
[[nodiscard]] const std::vector<Setting<EndpointOptions>>& endpoint_settings();

/// Defaults that depend on other values, and everything that can contradict something else.
/// Returns what is wrong, empty when nothing is.
[[nodiscard]] std::string complete(NicOptions& options);

}  // namespace vroce::nic
