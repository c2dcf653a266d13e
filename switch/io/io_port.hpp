// A port of the switch with the device behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/dpdk/ethdev_port.hpp"
#include "common/fault/fault_injector.hpp"
#include "switch/config/loader.hpp"
#include "switch/core/switch.hpp"
#include "switch/io/run_directory.hpp"

namespace vroce::sw {

struct IoPort {
    IoPort(PortId port, std::string port_name, MbufPool& pool) : id(port), name(std::move(port_name)), rx_fault(pool) {}

    PortId id;
    std::string name;
    std::unique_ptr<EthdevPort> device;  ///< never nullptr once open
    FaultInjector rx_fault;
    FaultRequest fault;            ///< the last request
    std::uint64_t rx_hold_ns = 0;  ///< time in which the port was not read for lack of packets or headroom
    Instant held_since = kNever;   ///< by its headroom
};

/// The ports that have a device and are administratively up. What keeps others from it is said in one line each.
struct IoPorts {
    std::vector<std::unique_ptr<IoPort>> ports;
    std::vector<std::string> notes;

    IoPort* find(const std::string& name) const {
        for (const auto& port : ports) {
            if (port->name == name) return port.get();
        }
        return nullptr;
    }
    /// "Ethernet0, Ethernet4", for error messages.
    std::string names() const;
};

/// Opens every device. Errors name the file, the entry, its value and what is allowed.
Result<IoPorts> open_ports(const LoadedConfig& config, const std::string& file, const RunDirectory& directory,
                           MbufPool& pool);

}  // namespace vroce::sw
