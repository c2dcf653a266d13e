// What a command sees on an endpoint's host: the endpoint's RDMA device, through a private mount namespace.
//
//   /sys/class            overlay: the endpoint's class/ tree over the kernel's
//   /dev                  the old entries, bound one by one, plus infiniband/{uverbsN,rdma_cm}
//   /etc/libibverbs.d     vroce.driver alone, which names the built plugin
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace vroce::tools {

struct DeviceView {
    std::string class_dir;        // <run-dir>/<host>/<vm>/class
    std::string plugin;           // absolute path without -rdmav34.so; empty: installed in the ordinary place
    bool fresh_sysfs = false;     // after a change of network namespace, whose interfaces only a new mount shows
    bool user_namespace = false;  // without privilege: become root of a user namespace first
};

/// Moves the calling (single-threaded) process into the view. On failure the process must end.
Status enter_device_view(const DeviceView& view);

/// The plugin beside this executable in a build tree, as DeviceView::plugin wants it; empty when it is installed.
std::string find_plugin();

}  // namespace vroce::tools
