// Questions to a running vroce process over its control socket.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace vroce::tools {

struct Peer {
    std::string name;  // sw1, h1: the folder below the run directory
    std::string socket;
};

/// Every process below the run directory that has a control socket, by name.
std::vector<Peer> find_peers(const std::string& run_dir);

/// The reply's `result`; its error, or what the socket said, as an Error that names the process.
Result<nlohmann::json> ask(const Peer& peer, const std::string& command,
                           const nlohmann::json& arguments = nlohmann::json::object());

struct PeerPort {
    Peer peer;
    std::string port;
};

/// "sw1/Ethernet0", "h1/uplink" or a bare port name that only one process has.
Result<PeerPort> find_port(const std::string& run_dir, const std::string& name);

}  // namespace vroce::tools
