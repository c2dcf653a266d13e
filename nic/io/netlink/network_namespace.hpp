// Doing something inside another network namespace: on a thread of its own, which ends there; the process stays where
// it is. Sockets and TAP interfaces belong to the namespace in which they were opened.
#pragma once

#include <functional>
#include <string>

#include "common/base/result.hpp"

namespace vroce::nic {

/// Runs `function` in the namespace that `path` names (/run/netns/h1), or right here when it is empty; waits for it.
Status run_in_netns(const std::string& path, const std::function<Status()>& function);

}  // namespace vroce::nic
