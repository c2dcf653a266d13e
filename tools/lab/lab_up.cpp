// Bringing a lab up: namespaces, files, processes, in the order of the wires.
#include <fmt/core.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tools/lab/lab.hpp"
#include "tools/lab/netns.hpp"
#include "tools/lab/peer.hpp"

namespace vroce::tools {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kDefaultMemoryMib = 192;  // what one process reserves at most when the lab's file says nothing

/// What every process of this lab is started with.
struct Settings {
    std::string run_dir;
    std::string poll;
    int memory_mib = 0;
    bool huge = true;
    std::vector<int> cpus;
};

/// Beside this executable in a build tree (tools/vroce, switch/vroce-switch), or in the same folder when installed.
Result<std::string> find_program(const std::string& folder, const std::string& name) {
    std::error_code error;
    const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const fs::path& path : {here.parent_path() / folder / name, here / name}) {
        if (::access(path.c_str(), X_OK) == 0) return path.string();
    }
    return Error{fmt::format("{} is not built: neither in {} nor in {}", name, (here.parent_path() / folder).string(),
                             here.string())};
}

std::vector<int> usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
    return cpus;
}

std::uint64_t free_hugepage_mib() {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
        std::uint64_t pages = 0;
        std::ifstream(entry.path() / "free_hugepages") >> pages;
        const std::string name = entry.path().filename().string();  // hugepages-2048kB
        const auto dash = name.find('-');
        if (dash != std::string::npos) bytes += pages * std::strtoull(name.c_str() + dash + 1, nullptr, 10) * 1024;
    }
    return bytes >> 20;
}

Settings settle(const Lab& lab, const std::string& run_dir) {
    Settings settings{run_dir, lab.poll, lab.memory_mib, true, usable_cpus()};
    const std::uint64_t each = lab.memory_mib > 0 ? static_cast<std::uint64_t>(lab.memory_mib) : kDefaultMemoryMib;
    const std::uint64_t needed = each * (lab.switches.size() + lab.hosts.size());
    const std::uint64_t available = free_hugepage_mib();
    settings.huge = available >= needed;
    if (!settings.huge) {
        fmt::print("hugepages: {} MiB free, {} MiB needed: running with --no-huge (slower, works as well)\n", available,
                   needed);
    }
    return settings;
}

Status write_text(const std::string& path, const std::string& text) {
    std::ofstream out(path, std::ios::trunc);
    out << text;
    out.flush();
    return out ? Status(Done{}) : Status(Error{path + " cannot be written"});
}

Status make_folder(const std::string& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) return Error{fmt::format("{}: {}", path, error.message())};
    // Programs of other users open the endpoint's socket below it.
    ::chmod(path.c_str(), 0755);
    return Done{};
}

/// One process one core while cores last; then cores are shared, in turn.
int cpu_of(const Settings& settings, std::size_t index) {
    return settings.cpus.empty() ? 0 : settings.cpus[index % settings.cpus.size()];
}

Result<Spawn> prepare_switch(const LabSwitch& sw, const Settings& settings, std::size_t index) {
    const Result<std::string> program = find_program("switch", "vroce-switch");
    if (!program) return Error{program.error()};
    const std::string dir = fmt::format("{}/{}", settings.run_dir, sw.name);
    if (Status s = make_folder(dir); !s) return Error{s.error()};
    if (Status s = write_text(dir + "/config.json", sw.config.dump(2) + "\n"); !s) return Error{s.error()};
    Spawn spawn{{*program, "--name", sw.name, "--config", dir + "/config.json", "--run-dir", settings.run_dir, "--cpu",
                 std::to_string(cpu_of(settings, index))},
                dir + "/log",
                settings.run_dir};
    if (settings.memory_mib > 0)
        spawn.argv.insert(spawn.argv.end(), {"--memory-mib", std::to_string(settings.memory_mib)});
    if (!settings.poll.empty()) spawn.argv.insert(spawn.argv.end(), {"--poll", settings.poll});
    if (!settings.huge) spawn.argv.push_back("--no-huge");
    return spawn;
}

std::string endpoint_section(const LabEndpoint& endpoint) {
    std::string text =
        fmt::format("\n[{}]\ndevice = {}\ninterface = {}\n", endpoint.name, endpoint.device, endpoint.interface);
    for (const std::string& address : endpoint.addresses) text += fmt::format("address = {}\n", address);
    if (!endpoint.mac.empty()) text += fmt::format("mac = {}\n", endpoint.mac);
    if (endpoint.vlan != 0) text += fmt::format("vlan = {}\n", endpoint.vlan);
    if (!endpoint.vendor_id.empty()) text += fmt::format("vendor-id = {}\n", endpoint.vendor_id);
    if (!endpoint.vendor_part_id.empty()) text += fmt::format("vendor-part-id = {}\n", endpoint.vendor_part_id);
    return text;
}

std::string host_file(const Lab& lab, const LabHost& host, const Settings& settings, std::size_t index) {
    std::string text = fmt::format(
        "# Written by 'vroce lab up' from {}\nname = {}\nrun-dir = {}\nuplink = memif:{}/{}/{}.memif\nspeed = {}M\n"
        "mtu = {}\nnetns = {}\ncpu = {}\n",
        lab.file, host.name, settings.run_dir, settings.run_dir, host.switch_name, host.port,
        host.speed_bps / 1'000'000, host.mtu, netns_path(lab.name, host.name), cpu_of(settings, index));
    if (settings.memory_mib > 0) text += fmt::format("memory-mib = {}\n", settings.memory_mib);
    if (!settings.poll.empty()) text += fmt::format("poll = {}\n", settings.poll);
    if (!settings.huge) text += "no-huge = true\n";
    for (const LabEndpoint& endpoint : host.endpoints) text += endpoint_section(endpoint);
    return text;
}

Result<Spawn> prepare_host(const Lab& lab, const LabHost& host, const Settings& settings, std::size_t index) {
    const Result<std::string> program = find_program("nic", "vroce-nic");
    if (!program) return Error{program.error()};
    const std::string dir = fmt::format("{}/{}", settings.run_dir, host.name);
    if (Status s = make_folder(dir); !s) return Error{s.error()};
    if (Status s = write_text(dir + "/config.ini", host_file(lab, host, settings, index)); !s) return Error{s.error()};
    return Spawn{{*program, "--config", dir + "/config.ini"}, dir + "/log", settings.run_dir};
}

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
    Builder(const Lab& lab, LabState& state, Settings settings)
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
    Settings settings_;
};

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
