// A host's network namespace: a file below /run/netns that keeps it alive, as `ip netns` has them.
#pragma once

#include <functional>
#include <string>

#include "common/base/result.hpp"

namespace vroce::tools {

/// /run/netns/vroce-<lab>-<host>: the prefix keeps it apart from the user's own.
std::string netns_path(const std::string& lab, const std::string& host);

/// Makes the namespace, its loopback up. Refuses a name that is in use.
Status create_netns(const std::string& path);

/// Removes the name; the namespace ends with its last process. Succeeds when there is none.
Status delete_netns(const std::string& path);

/// True when the file is there and is a network namespace.
bool netns_exists(const std::string& path);

/// Moves the calling (single-threaded) process in.
Status enter_netns(const std::string& path);

/// Runs `probe` in a child inside the namespace; true when it returned true.
bool ask_in_netns(const std::string& path, const std::function<bool()>& probe);

}  // namespace vroce::tools
