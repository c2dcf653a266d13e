// Taking a lab down: what was recorded, and what a crash kept from being recorded.
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "tools/lab/lab.hpp"
#include "tools/lab/netns.hpp"

namespace vroce::tools {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kGrace{5000};

std::set<std::string> namespaces_of(const LabState& state) {
    std::set<std::string> names;
    for (const LabPlace& place : state.places) names.insert(place.netns);
    return names;
}

bool is_lab_process(const std::vector<ProcessId>& ours, const ProcessId& id) {
    for (const ProcessId& one : ours) {
        if (one == id) return true;
    }
    return false;
}

/// Commands that people run on the lab's hosts; the lab's own processes are not among them.
std::vector<ProcessId> guests(const LabState& state, const std::string& run_dir) {
    std::vector<ProcessId> ours = spawned_for(run_dir);
    for (const LabProcess& process : state.processes) ours.push_back(process.id);
    std::vector<ProcessId> found;
    for (const std::string& netns : namespaces_of(state)) {
        for (const ProcessId& id : inside_netns(netns)) {
            if (!is_lab_process(ours, id)) found.push_back(id);
        }
    }
    return found;
}

Status end_guests(const LabState& state, const std::string& run_dir, bool force) {
    const std::vector<ProcessId> running = guests(state, run_dir);
    if (running.empty()) return Done{};
    if (!force) {
        return Error{
            fmt::format("{} command(s) still run on the lab's hosts, pid {} '{}' among them; end them or give "
                        "--force",
                        running.size(), running[0].pid, command_line(running[0].pid))};
    }
    for (const ProcessId& id : running) {
        fmt::print("ending pid {} '{}'\n", id.pid, command_line(id.pid));
        stop(id, std::chrono::milliseconds(1000));
    }
    return Done{};
}

Status stop_processes(const std::string& run_dir, const LabState* state) {
    std::vector<ProcessId> all = spawned_for(run_dir);
    if (state != nullptr) {
        // Hosts before switches: the last to be started is the first to go.
        for (auto p = state->processes.rbegin(); p != state->processes.rend(); ++p) all.insert(all.begin(), p->id);
    }
    for (const ProcessId& id : all) {
        if (!stop(id, kGrace)) return Error{fmt::format("pid {} '{}' does not end", id.pid, command_line(id.pid))};
    }
    return Done{};
}

}  // namespace

Status remove_lab(const std::string& run_dir, const LabState* state) {
    Status result = stop_processes(run_dir, state);
    if (state != nullptr) {
        for (const std::string& netns : namespaces_of(*state)) {
            if (Status s = delete_netns(netns); !s && result) result = s;
        }
    }
    if (!result) return result;  // keep lab.json, so that `down` can be tried again
    std::error_code error;
    fs::remove_all(run_dir, error);
    return error ? Status(Error{fmt::format("{}: {}", run_dir, error.message())}) : Status(Done{});
}

Status lab_down(const std::string& run_dir, bool force) {
    if (::geteuid() != 0) return Error{"needs root: it ends processes and network namespaces"};
    const Result<LabLock> lock = LabLock::take(run_dir);
    if (!lock) return Error{lock.error()};
    const Result<std::optional<LabState>> state = read_state(run_dir);
    if (!state && !force) return Error{state.error() + "; --force removes what can be found without it"};
    const LabState* known = state && *state ? &**state : nullptr;
    if (known == nullptr && spawned_for(run_dir).empty() && state) {
        fmt::print("no lab is up in {}\n", run_dir);
        return Done{};
    }
    if (known != nullptr) {
        if (Status s = end_guests(*known, run_dir, force); !s) return s;
    }
    if (Status s = remove_lab(run_dir, known); !s) return s;
    fmt::print("lab {} is down\n", known != nullptr ? known->name : run_dir);
    return Done{};
}

}  // namespace vroce::tools
