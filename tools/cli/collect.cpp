#include "tools/cli/collect.hpp"

#include <fmt/core.h>

#include "tools/lab/peer.hpp"

namespace vroce::cli {
namespace {

using nlohmann::json;

bool wanted(Who who, const json& status) {
    const std::string kind = status.value("kind", "");
    return who == Who::all || (who == Who::switches ? kind == "switch" : kind == "nic");
}

}  // namespace

Collected collect(const Arguments& arguments, Who who, const std::string& command) {
    Collected out;
    const auto on = arguments.get("on");
    std::string known;
    for (const tools::Peer& peer : tools::find_peers(arguments.run_dir())) {
        known += (known.empty() ? "" : ", ") + peer.name;
        if (on && *on != peer.name) continue;
        const auto status = tools::ask(peer, "status");
        if (!status || !wanted(who, *status)) {
            if (!status) out.error = status.error();
            continue;
        }
        const auto answer = command == "status" ? status : tools::ask(peer, command);
        if (answer) {
            out.answers[peer.name] = *answer;
        } else {
            out.error = answer.error();
        }
    }
    if (known.empty()) out.error = fmt::format("no vroce process runs below {}", arguments.run_dir());
    if (on && out.answers.empty() && out.error.empty()) {
        out.error = fmt::format("'{}' is not a process that answers this; there are {}", *on, known);
    }
    return out;
}

}  // namespace vroce::cli
