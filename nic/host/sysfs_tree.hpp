// The endpoint's device as programs look for it below /sys/class: the files that a kernel's InfiniBand core would
// publish. `vroce run` shows <directory>/class as an overlay on /sys/class.
//
// An overlay goes on showing what it looked up once: a file that is replaced, added or removed below it is not seen.
// Therefore everything that changes stands in <directory>/live, outside of the overlay, and `ports` is a symbolic link
// to it; class/ itself never changes after its publication (libibverbs also takes a device for another one when the
// time stamp of infiniband/<device> changes), and a restarted NIC process leaves what it finds there as it is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "nic/host/gid_table.hpp"
#include "nic/host/port_state.hpp"

namespace vroce::nic {

struct SysfsDevice {
    std::string directory;  ///< the endpoint's
    std::string device;     ///< vroce0
    std::uint32_t number = 0;
    std::string interface;
    std::string session_path;
    std::string description;
    MacAddress mac;
    std::uint32_t vendor_id = 0;
    std::uint32_t vendor_part_id = 0;
};

class SysfsTree {
public:
    using Values = std::vector<std::pair<std::string, std::uint64_t>>;

    /// Everything is complete when this returns.
    static Result<std::unique_ptr<SysfsTree>> publish(const SysfsDevice& device, const GidTable& gids,
                                                      const PortState& port);
    /// Removes class/ and live/.
    ~SysfsTree();
    SysfsTree(const SysfsTree&) = delete;
    SysfsTree& operator=(const SysfsTree&) = delete;

    Status set_gid(std::size_t index, const Gid& gid);
    Status set_port(const PortState& port);
    /// Writes the files whose values changed; names that there is no file for are ignored. Returns how many it wrote.
    std::size_t set_counters(const Values& values);

private:
    explicit SysfsTree(const SysfsDevice& device) : device_(device) {}
    Status write_all(const GidTable& gids, const PortState& port);
    Status write_live(const GidTable& gids, const PortState& port);
    Status write_class();
    Status write_infiniband(const std::string& at);

    struct Counter {
        std::string path;
        std::uint64_t value;
    };
    SysfsDevice device_;
    std::map<std::string, Counter> counters_;
};

}  // namespace vroce::nic
