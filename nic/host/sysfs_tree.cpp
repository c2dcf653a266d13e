#include "nic/host/sysfs_tree.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "nic/host/text_file.hpp"
#include "nic/transport/engine_counters.hpp"

namespace vroce::nic {
namespace {

/// Of IBTA's PortCounters, as the kernel names them.
constexpr std::array<std::string_view, 21> kPortCounters{"VL15_dropped",
                                                         "excessive_buffer_overrun_errors",
                                                         "link_downed",
                                                         "link_error_recovery",
                                                         "local_link_integrity_errors",
                                                         "multicast_rcv_packets",
                                                         "multicast_xmit_packets",
                                                         "port_rcv_constraint_errors",
                                                         "port_rcv_data",
                                                         "port_rcv_errors",
                                                         "port_rcv_packets",
                                                         "port_rcv_remote_physical_errors",
                                                         "port_rcv_switch_relay_errors",
                                                         "port_xmit_constraint_errors",
                                                         "port_xmit_data",
                                                         "port_xmit_discards",
                                                         "port_xmit_packets",
                                                         "port_xmit_wait",
                                                         "symbol_error",
                                                         "unicast_rcv_packets",
                                                         "unicast_xmit_packets"};

/// Stops at the first write that failed and keeps its message.
class Writer {
public:
    explicit Writer(std::string root) : root_(std::move(root)) {}
    void directory(const std::string& name) {
        take([&] { return make_directories(root_ + "/" + name); });
    }
    void file(const std::string& name, const std::string& text) {
        take([&] { return keep_file(root_ + "/" + name, text + "\n"); });
    }
    void link(const std::string& name, const std::string& target) {
        take([&] { return keep_link(root_ + "/" + name, target); });
    }
    [[nodiscard]] const Status& status() const { return status_; }

private:
    template <typename F>
    void take(F&& write) {
        if (status_) status_ = write();
    }
    std::string root_;
    Status status_{Done{}};
};

std::string format_guid(const MacAddress& mac) {
    const auto id = eui64(mac);
    return fmt::format("{:02x}{:02x}:{:02x}{:02x}:{:02x}{:02x}:{:02x}{:02x}", id[0], id[1], id[2], id[3], id[4], id[5],
                       id[6], id[7]);
}

/// local_cpus of a device that is near to all of them: groups of 32 bits, highest first.
std::string all_cpus_mask() {
    const long count = std::max(1L, sysconf(_SC_NPROCESSORS_CONF));
    std::string mask;
    for (long group = (count - 1) / 32; group >= 0; --group) {
        const long bits = std::min(32L, count - group * 32);
        mask += fmt::format("{}{:08x}", mask.empty() ? "" : ",", (std::uint64_t{1} << bits) - 1);
    }
    return mask;
}

/// Takes away the folders that a dead process with other settings left in one.
void remove_others(const std::string& folder, const std::string& kept) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (entry.is_directory(ignored) && entry.path().filename() != kept)
            std::filesystem::remove_all(entry.path(), ignored);
}

}  // namespace

Result<std::unique_ptr<SysfsTree>> SysfsTree::publish(const SysfsDevice& device, const GidTable& gids,
                                                      const PortState& port) {
    std::unique_ptr<SysfsTree> tree(new SysfsTree(device));
    if (const Status status = tree->write_all(gids, port); !status) return Error{status.error()};
    return tree;
}

SysfsTree::~SysfsTree() {
    std::error_code ignored;
    std::filesystem::remove_all(device_.directory + "/class", ignored);
    std::filesystem::remove_all(device_.directory + "/live", ignored);
}

Status SysfsTree::write_all(const GidTable& gids, const PortState& port) {
    if (const Status status = write_live(gids, port); !status) return status;
    return write_class();
}

// ports/, and the interface's name: what may differ from one moment to the next.
Status SysfsTree::write_live(const GidTable& gids, const PortState& port) {
    // Nobody may see half of what a dead process left.
    std::error_code ignored;
    std::filesystem::remove_all(device_.directory + "/live", ignored);
    const std::string root = device_.directory + "/live/ports/1";
    Writer writer(root);
    for (const char* name : {"gids", "gid_attrs/types", "gid_attrs/ndevs", "pkeys", "counters", "hw_counters"})
        writer.directory(name);
    for (std::size_t i = 0; i < GidTable::kEntries; ++i)
        writer.file(fmt::format("gid_attrs/types/{}", i), "RoCE v2");  // each index has one, or a table query fails
    writer.file("pkeys/0", "0xffff");
    writer.file("link_layer", "Ethernet");
    for (const char* name : {"lid", "sm_lid"}) writer.file(name, "0x0");
    for (const char* name : {"lid_mask_count", "sm_sl"}) writer.file(name, "0");
    writer.file("cap_mask", fmt::format("0x{:08x}", kPortCapabilities));
    const auto add_counter = [&](const char* folder, std::string_view name) {
        const std::string file = fmt::format("{}/{}", folder, name);
        writer.file(file, "0");
        counters_[std::string(name)] = {root + "/" + file, 0};
    };
    for (const auto name : kPortCounters) add_counter("counters", name);
    for (const auto name : kEngineCounterLabels) add_counter("hw_counters", name);
    if (!writer.status()) return writer.status();
    for (std::size_t i = 0; i < GidTable::kEntries; ++i)
        if (const Status status = set_gid(i, gids.at(i)); !status) return status;
    return set_port(port);
}

Status SysfsTree::write_class() {
    Writer writer(device_.directory + "/class");
    const std::string infiniband = "infiniband/" + device_.device;
    for (const std::string& name : {infiniband + "/device/net/" + device_.interface, std::string("misc/rdma_cm")})
        writer.directory(name);
    writer.file("misc/rdma_cm/abi_version", "4");
    if (!writer.status()) return writer.status();
    remove_others(device_.directory + "/class/infiniband", device_.device);
    remove_others(device_.directory + "/class/" + infiniband + "/device/net", device_.interface);
    if (const Status status = write_infiniband(device_.directory + "/class/" + infiniband); !status) return status;
    // Last, since this is where libibverbs begins to look.
    const std::string uverbs = fmt::format("infiniband_verbs/uverbs{}", device_.number);
    writer.directory(uverbs);
    remove_others(device_.directory + "/class/infiniband_verbs", fmt::format("uverbs{}", device_.number));
    writer.file(uverbs + "/ibdev", device_.device);
    writer.file(uverbs + "/dev", "1:7");  // /dev/full: a write that nobody answers fails
    writer.file(uverbs + "/abi_version", "1");
    writer.file("infiniband_verbs/abi_version", "6");
    return writer.status();
}

Status SysfsTree::write_infiniband(const std::string& at) {
    Writer writer(at);
    writer.file("node_type", "1: CA");
    writer.file("node_guid", format_guid(device_.mac));
    writer.file("sys_image_guid", format_guid(device_.mac));
    writer.file("fw_ver", VROCE_VERSION);
    writer.file("hca_type", "vroce");
    writer.file("hw_rev", "0");
    writer.file("board_id", "vroce");
    writer.file("node_desc", device_.description);
    writer.file("session", device_.session_path);
    writer.link("ports", device_.directory + "/live/ports");
    writer.file("device/vendor", fmt::format("0x{:04x}", device_.vendor_id));
    writer.file("device/device", fmt::format("0x{:04x}", device_.vendor_part_id));
    writer.file("device/numa_node", "-1");
    writer.file("device/local_cpus", all_cpus_mask());
    return writer.status();
}

Status SysfsTree::set_gid(std::size_t index, const Gid& gid) {
    const std::string root = device_.directory + "/live/ports/1/";
    const std::string netdev = fmt::format("{}gid_attrs/ndevs/{}", root, index);
    if (is_zero(gid)) {
        unlink(netdev.c_str());
    } else if (const Status status = keep_file(netdev, device_.interface + "\n"); !status) {
        return status;
    }
    return keep_file(fmt::format("{}gids/{}", root, index), format_gid(gid) + "\n");
}

Status SysfsTree::set_port(const PortState& port) {
    Writer writer(device_.directory + "/live/ports/1");
    writer.file("state", port.state_text());
    writer.file("phys_state", port.physical_state_text());
    writer.file("rate", port_rate(port.speed_bps).text);
    return writer.status();
}

std::size_t SysfsTree::set_counters(const Values& values) {
    std::size_t written = 0;
    for (const auto& [name, value] : values) {
        const auto counter = counters_.find(name);
        if (counter == counters_.end() || counter->second.value == value) continue;
        if (!replace_file(counter->second.path, fmt::format("{}\n", value))) continue;
        counter->second.value = value;
        ++written;
    }
    return written;
}

}  // namespace vroce::nic
