// A lab: switches, hosts plugged into them, and the endpoints that programs open there. Read from JSON with comments.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace vroce::tools {

struct LabEndpoint {
    std::string name;                       // vm1
    std::string device;                     // vroce0, the RDMA device's name
    std::string interface;                  // eth0, the TAP's
    std::vector<std::string> addresses;     // 10.0.0.1/24
    std::string mac;                        // empty: the NIC makes one
    int vlan = 0;                           // 0: untagged
    std::string vendor_id, vendor_part_id;  // empty: the NIC's default
};

struct LabHost {
    std::string name;
    std::string switch_name;
    std::string port;
    std::uint64_t speed_bps = 0;
    int mtu = 0;      // of the host's interfaces
    std::string pfc;  // "3": priorities that are lossless on the uplink
    std::vector<LabEndpoint> endpoints;
};

struct LabSwitch {
    std::string name;
    nlohmann::json config;  // CONFIG_DB-shaped, with every port that a host is plugged into
};

struct LabFault {
    std::string dev;           // sw1/Ethernet0, h1/uplink
    nlohmann::json arguments;  // as `fault.set` takes them, without dev
};

struct Lab {
    std::string name;
    std::string file;       // absolute
    std::string poll;       // busy, adaptive or empty
    bool hugepages = true;  // when there are enough free ones
    int memory_mib = 0;     // per process; 0: its default
    std::vector<LabSwitch> switches;
    std::vector<LabHost> hosts;
    std::vector<LabFault> faults;
    nlohmann::json definition;  // everything that was read; two labs are the same if these are equal
};

Result<Lab> load_lab(const std::string& path);

/// Namespaces are named after the lab; with another name (and run directory) the same file can be up twice.
Status rename_lab(Lab& lab, const std::string& name);

/// "10G", "2500M", "400G" → bits a second.
Result<std::uint64_t> parse_speed(const std::string& text);

}  // namespace vroce::tools
