// From VROCE_PORT entries to devices.
#include "switch/io/io_port.hpp"

#include <fmt/format.h>
#include <rte_log.h>

#include "switch/io/memory_plan.hpp"

namespace vroce::sw {
namespace {

std::string devargs_of(const LoadedConfig& config, PortId port, const RunDirectory& directory) {
    const std::string& devargs = config.devices[port].devargs;
    if (devargs != "memif") return devargs;
    return fmt::format("net_memif{},role=server,socket={}", port,
                       directory.file(config.core->ports[port].name + ".memif"));
}

/// DPDK's own lines about a device that does not open would stand beside ours, which says it all.
class QuietLog {
public:
    QuietLog() : level_(rte_log_get_global_level()) { rte_log_set_global_level(RTE_LOG_CRIT); }
    ~QuietLog() { rte_log_set_global_level(level_); }
    QuietLog(const QuietLog&) = delete;
    QuietLog& operator=(const QuietLog&) = delete;

private:
    std::uint32_t level_;
};

}  // namespace

std::string IoPorts::names() const {
    std::string list;
    for (const auto& port : ports) list += (list.empty() ? "" : ", ") + port->name;
    return list.empty() ? "none" : list;
}

Result<IoPorts> open_ports(const LoadedConfig& config, const std::string& file, const RunDirectory& directory,
                           MbufPool& pool) {
    IoPorts opened;
    const QuietLog quiet;
    const auto ports = static_cast<PortId>(config.core->ports.size());  // at most kMaxPorts
    for (PortId id = 0; id < ports; ++id) {
        const PortConfig& port = config.core->ports[id];
        if (config.devices[id].devargs.empty()) {
            opened.notes.push_back(fmt::format("{}: no entry in VROCE_PORT, so the port is down", port.name));
            continue;
        }
        if (!port.admin_up) {
            opened.notes.push_back(fmt::format("{}: admin_status is down, so its device is not opened", port.name));
            continue;
        }
        if (opened.ports.size() == RTE_MAX_ETHPORTS) {
            return Error{
                fmt::format("{}: VROCE_PORT|{}: one port with a device too many; allowed: {}, which this DPDK "
                            "was built for (RTE_MAX_ETHPORTS)",
                            file, port.name, RTE_MAX_ETHPORTS)};
        }
        EthdevPortOptions options;
        options.devargs = devargs_of(config, id, directory);
        options.max_frame_bytes = pool.max_frame_bytes();
        options.descriptors = kDescriptors;
        options.keep_device = true;
        Result<std::unique_ptr<EthdevPort>> device = EthdevPort::open(options, pool);
        if (!device) {
            return Error{fmt::format("{}: VROCE_PORT|{}: devargs \"{}\": {}; allowed: \"memif\" or a DPDK device", file,
                                     port.name, config.devices[id].devargs, device.error())};
        }
        opened.ports.push_back(std::make_unique<IoPort>(id, port.name, pool));
        opened.ports.back()->device = std::move(*device);
    }
    return opened;
}

}  // namespace vroce::sw
