// A CONFIG_DB-shaped file to the switch's configuration. What it does not know is named in a warning; what is malformed
// or contradicts itself is refused in one line: file, table|key, field, value, and what is allowed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "switch/config/document.hpp"
#include "switch/core/switch_config.hpp"

namespace vroce::sw {

/// What stands behind a port (table VROCE_PORT).
struct PortDevice {
    enum class Role : std::uint8_t { kHost, kSwitch };

    std::string devargs;  ///< DPDK devargs, "memif" for our own socket, empty for a port without a device
    Role role = Role::kHost;
};

/// Behind these is a kernel interface, which neither sends nor obeys pause.
inline bool ignores_pause(const PortDevice& device) {
    return device.devargs.rfind("net_tap", 0) == 0 || device.devargs.rfind("net_af_packet", 0) == 0;
}

struct LoadedConfig {
    ConfigSnapshot core;
    std::vector<PortDevice> devices;    ///< one for each port of core->ports
    std::vector<std::string> warnings;  ///< one line each
};

Result<LoadedConfig> load_config(const std::string& file);
Result<LoadedConfig> parse_config(std::string_view text, const std::string& file);

}  // namespace vroce::sw
