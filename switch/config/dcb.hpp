// dcb's words on a port's configuration: what a request changes, and what a port says of itself in dcb's terms. Pure: a
// configuration goes in and a changed one comes out, or the reason why not.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/dcb/dcb_request.hpp"
#include "switch/core/switch_config.hpp"

namespace vroce::sw {

struct DcbChange {
    SwitchConfig config;
    std::vector<std::string> notes;  ///< what else changed because of it, a line each
};

/// Applies the request to one port of a copy of `config`. Buffer limits are not worked out again here. An add and a
/// replace do the same: every DSCP and PCP has exactly one priority, and one that is deleted has the port's default.
[[nodiscard]] Result<DcbChange> apply_dcb(const SwitchConfig& config, PortId port, const DcbRequest& request);

/// All tables of an object ("pfc", …), complete. Rewrites are given only where they are in use.
[[nodiscard]] Result<DcbTables> show_dcb(const SwitchConfig& config, PortId port, const std::string& object);

}  // namespace vroce::sw
