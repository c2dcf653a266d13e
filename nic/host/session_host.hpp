// What the sessions of one endpoint share.
#pragma once

#include "nic/device/device.hpp"
#include "nic/host/endpoint.hpp"
#include "nic/host/gid_table.hpp"
#include "nic/host/host_counters.hpp"
#include "nic/host/port_state.hpp"
#include "nic/host/reactor.hpp"

namespace vroce::nic {

/// Control thread, except the device.
struct SessionHost {
    const EndpointConfig& config;
    const NicServices& services;
    Device& device;
    GidTable gids;
    PortState port;
    Reactor reactor;
    HostCounters counters;
    /// Worker: a pipe was full, so the control thread has to wait for room in it.
    std::function<void()> on_held;
    /// A session has begun or ended.
    std::function<void()> on_change;
};

}  // namespace vroce::nic
