#include "tools/lab/peer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "common/control/control_client.hpp"

namespace vroce::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string listed(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : ", ") + word;
    return line.empty() ? "none" : line;
}

}  // namespace

std::vector<Peer> find_peers(const std::string& run_dir) {
    std::vector<Peer> peers;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(run_dir, error)) {
        const fs::path socket = entry.path() / "control.sock";
        std::error_code ignored;
        if (fs::is_socket(socket, ignored)) peers.push_back({entry.path().filename().string(), socket.string()});
    }
    std::sort(peers.begin(), peers.end(), [](const Peer& a, const Peer& b) { return a.name < b.name; });
    return peers;
}

Result<json> ask(const Peer& peer, const std::string& command, const json& arguments) {
    const Result<json> reply = control_call(peer.socket, command, arguments);
    if (!reply) return Error{fmt::format("{}: {}", peer.name, reply.error())};
    return *reply;
}

Result<PeerPort> find_port(const std::string& run_dir, const std::string& name) {
    const std::vector<Peer> peers = find_peers(run_dir);
    if (peers.empty()) return Error{fmt::format("no vroce process runs below {}", run_dir)};
    const auto slash = name.find('/');
    const std::string process = slash == std::string::npos ? "" : name.substr(0, slash);
    const std::string port = name.substr(slash == std::string::npos ? 0 : slash + 1);
    std::vector<PeerPort> found;
    std::vector<std::string> known;
    std::string silent;  // why a process did not tell its ports
    for (const Peer& peer : peers) {
        const Result<json> status = ask(peer, "status");
        if (!status) {
            silent = status.error();
            continue;
        }
        for (const json& p : status->value("ports", json::array())) {
            const std::string has = p.value("name", "");
            known.push_back(peer.name + "/" + has);
            if (has == port && (process.empty() || process == peer.name)) found.push_back({peer, has});
        }
    }
    if (found.size() == 1) return found[0];
    if (found.empty() && !silent.empty()) return Error{silent};
    if (found.empty()) return Error{fmt::format("no port '{}'; there are {}", name, listed(known))};
    return Error{fmt::format("port '{}' is ambiguous; say one of {}", name, listed(known))};
}

}  // namespace vroce::tools
