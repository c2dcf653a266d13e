// What a NIC process is told when it starts: an INI file and the same options on the command line, which win.
//
//   name = h1                      vroce-nic --config h1.ini --speed 25G --vm1.vlan 10
//   uplink = memif:/run/vroce/sw1/Ethernet0.memif
//   [vm1]
//   device = vroce0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nic/control/values.hpp"

namespace vroce::nic {

struct EndpointOptions {
    std::string name;       ///< vm1: the section
    std::string device;     ///< vroce0, the RDMA device's name
    std::string interface;  ///< eth0, the TAP's name
    MacAddress mac;         ///< when not given: made from the two names, so that it is the same after a restart
    std::vector<InterfaceAddress> addresses;
    std::uint16_t vlan = 0;
    std::optional<std::uint32_t> vendor_id;
    std::optional<std::uint32_t> vendor_part_id;
};

struct NicOptions {
    std::string name;
    std::string run_dir;
    std::string uplink;  ///< "memif:" and a socket's path, or DPDK device arguments
    std::uint64_t speed_bps = 10'000'000'000;
    std::uint32_t mtu = 4'200;
    std::uint8_t pfc_priorities = 0;  ///< bit p: priority p is lossless on the uplink
    std::optional<std::uint32_t> cpu;
    std::optional<std::uint32_t> memory_mib;
    bool no_huge = false;
    bool busy = false;
    std::string netns;  ///< empty: the process's own
    std::vector<EndpointOptions> endpoints;
};

struct OptionsOutcome {
    std::optional<NicOptions> options;
    int exit_code = 0;  ///< 0: help or version was asked for, 1: the file cannot be read, 2: wrong usage
    std::string text;   ///< what to print instead of starting
};

[[nodiscard]] OptionsOutcome parse_options(int argc, const char* const* argv);

}  // namespace vroce::nic
