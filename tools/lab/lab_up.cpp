// Bringing a lab up: namespaces, files, processes, in the order of the wires.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tools/lab/lab.hpp"
#include "tools/lab/lab_spawn.hpp"
#include "tools/lab/netns.hpp"
#include "tools/lab/peer.hpp"

namespace vroce::tools {
namespace {

namespace fs = std::filesystem;
/// The state as it will be, with no process started yet.
LabState plan(const Lab& lab, const std::string& run_dir) {
    LabState state{lab.name, lab.file, lab.definition, {}, {}};
    for (const LabSwitch& sw : lab.switches) {
        state.processes.push_back({sw.name, "switch", {}, fmt::format("{}/{}/log", run_dir, sw.name)});
    }
    for (const LabHost& host : lab.hosts) {
        state.processes.push_back({host.name, "nic", {}, fmt::format("{}/{}/log", run_dir, host.name)});
        for (const LabEndpoint& e : host.endpoints) {
            state.places.push_back({host.name, e.name, e.device, e.interface, netns_path(lab.name, host.name),
                                    fmt::format("{}/{}/{}", run_dir, host.name, e.name), e.addresses});
        }
    }
    return state;
}

class Builder {
public:
    Builder(const Lab& lab, LabState& state, SpawnSettings settings)
        : lab_(lab), state_(state), settings_(std::move(settings)) {}

    Status build() {
        for (const LabHost& host : lab_.hosts) {
            const std::string netns = netns_path(lab_.name, host.name);
            if (netns_exists(netns)) continue;  // of this lab: plan_or_resume() refused any other
            if (Status s = create_netns(netns); !s) return s;
        }
        if (Status s = start_kind("switch"); !s) return s;
        if (Status s = start_kind("nic"); !s) return s;
        if (Status s = wait_reachable(state_); !s) return s;
        return set_faults();
    }

private:
    /// Starts all dead processes of a kind, then waits for each: they come up side by side.
    Status start_kind(const std::string& kind) {
        std::vector<const LabProcess*> started;
        for (std::size_t i = 0; i < state_.processes.size(); ++i) {
            LabProcess& process = state_.processes[i];
            if (process.kind != kind || alive(process.id)) continue;
            fmt::print("starting {} {}\n", kind, process.name);
            std::fflush(stdout);
            if (Status s = start(process, i); !s) return s;
            started.push_back(&process);
        }
        for (const LabProcess* process : started) {
            if (Status s = wait_ready(settings_.run_dir, *process); !s) return s;
        }
        return Done{};
    }

    Status start(LabProcess& process, std::size_t index) {
        const Result<Spawn> what = process.kind == "switch"
                                       ? prepare_switch(lab_.switches[index], settings_, index)
                                       : prepare_host(lab_, lab_.hosts[index - lab_.switches.size()], settings_, index);
        if (!what) return Error{what.error()};
        // A dead one's socket would look like a living one that does not answer.
        std::error_code ignored;
        fs::remove(fmt::format("{}/{}/control.sock", settings_.run_dir, process.name), ignored);
        const Result<ProcessId> id = spawn(*what);
        if (!id) return Error{id.error()};
        process.id = *id;
        return write_state(settings_.run_dir, state_);
    }

    Status set_faults() {
        for (const LabFault& fault : lab_.faults) {
            const Result<PeerPort> port = find_port(settings_.run_dir, fault.dev);
            if (!port) return Error{"faults: " + port.error()};
            nlohmann::json arguments = fault.arguments;
            arguments["dev"] = port->port;
            const Result<nlohmann::json> answer = ask(port->peer, "fault.set", arguments);
            if (!answer) return Error{fmt::format("faults: {}: {}", fault.dev, answer.error())};
        }
        return Done{};
    }

    const Lab& lab_;
    LabState& state_;
    SpawnSettings settings_;
};

/// A process that does not answer may be about to end (killed, but not yet gone): it is neither to be left nor to be
/// started again until one knows.
Status wait_until_clear(const std::string& run_dir, const LabState& state) {
    constexpr auto kPatience = std::chrono::seconds(5);
    constexpr auto kPause = std::chrono::milliseconds(10);
    for (const LabProcess& process : state.processes) {
        const Peer peer{process.name, fmt::format("{}/{}/control.sock", run_dir, process.name)};
        const auto give_up = std::chrono::steady_clock::now() + kPatience;
        while (alive(process.id) && !ask(peer, "status")) {
            if (std::chrono::steady_clock::now() > give_up) {
                return Error{fmt::format("{} (pid {}) does not answer; 'vroce lab down --force' ends it", process.name,
                                         process.id.pid)};
            }
            std::this_thread::sleep_for(kPause);
        }
    }
    return Done{};
}

std::size_t count_alive(const LabState& state) {
    return static_cast<std::size_t>(
        std::count_if(state.processes.begin(), state.processes.end(), [](const LabProcess& p) { return alive(p.id); }));
}

/// Nothing there: a new state. The same lab: its state. Anything else is somebody's work and stays.
Result<LabState> plan_or_resume(const Lab& lab, const std::string& run_dir) {
    const Result<std::optional<LabState>> found = read_state(run_dir);
    if (!found) return Error{found.error() + "; 'vroce lab down --force' removes it"};
    if (*found) {
        if ((*found)->definition == lab.definition) return **found;
        return Error{fmt::format("lab {} is up in {} from {} with another content; 'vroce lab down' first",
                                 (*found)->name, run_dir, (*found)->file)};
    }
    std::error_code error;
    if (fs::exists(run_dir, error) && !fs::is_empty(run_dir, error)) {
        return Error{
            fmt::format("{} is not empty and holds no lab.json; remove it or give another --run-dir", run_dir)};
    }
    LabState state = plan(lab, run_dir);
    for (const LabPlace& place : state.places) {
        if (!fs::exists(place.netns, error)) continue;
        return Error{
            fmt::format("{} exists: another lab named {} is up, or was left without its run directory ('ip netns "
                        "del {}' removes it)",
                        place.netns, lab.name, fs::path(place.netns).filename().string())};
    }
    return state;
}

}  // namespace

Status lab_up(const Lab& lab, const std::string& run_dir) {
    if (::geteuid() != 0) return Error{"needs root: it makes network namespaces and TAP interfaces"};
    const Result<LabLock> lock = LabLock::take(run_dir);
    if (!lock) return Error{lock.error()};
    Result<LabState> state = plan_or_resume(lab, run_dir);
    if (!state) return Error{state.error()};
    if (Status s = wait_until_clear(run_dir, *state); !s) return s;
    if (count_alive(*state) == state->processes.size()) {
        fmt::print("lab {} is up already\n", lab.name);
        return Done{};
    }
    if (Status s = make_folder(run_dir); !s) return s;
    if (Status s = write_state(run_dir, *state); !s) return s;
    catch_interrupts();
    Builder builder(lab, *state, settle(lab, run_dir));
    if (Status s = builder.build(); !s) {
        if (Status r = remove_lab(run_dir, &*state); !r)
            return Error{fmt::format("{}\nand then: {}", s.error(), r.error())};
        return s;
    }
    fmt::print("lab {} is up\n", lab.name);
    return Done{};
}

}  // namespace vroce::tools
