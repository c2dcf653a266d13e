#include "tools/lab/lab_spawn.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tools/lab/netns.hpp"

namespace vroce::tools {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kDefaultMemoryMib = 192;  // what one process reserves at most when the lab's file says nothing

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

Status write_text(const std::string& path, const std::string& text) {
    std::ofstream out(path, std::ios::trunc);
    out << text;
    out.flush();
    return out ? Status(Done{}) : Status(Error{path + " cannot be written"});
}

/// A core for each process where there are enough and one is left for programs; else none, and the kernel places them.
std::optional<int> cpu_of(const SpawnSettings& settings, std::size_t index) {
    if (settings.cpus.size() <= settings.processes) return std::nullopt;
    return settings.cpus[index + 1];  // the first core serves interrupts
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

std::string host_file(const Lab& lab, const LabHost& host, const SpawnSettings& settings, std::size_t index) {
    std::string text = fmt::format(
        "# Written by 'vroce lab up' from {}\nname = {}\nrun-dir = {}\nuplink = memif:{}/{}/{}.memif\nspeed = {}M\n"
        "mtu = {}\nnetns = {}\npfc = {}\n",
        lab.file, host.name, settings.run_dir, settings.run_dir, host.switch_name, host.port,
        host.speed_bps / 1'000'000, host.mtu, netns_path(lab.name, host.name), host.pfc);
    if (const auto cpu = cpu_of(settings, index)) text += fmt::format("cpu = {}\n", *cpu);
    if (settings.memory_mib > 0) text += fmt::format("memory-mib = {}\n", settings.memory_mib);
    if (!settings.poll.empty()) text += fmt::format("poll = {}\n", settings.poll);
    if (!settings.huge) text += "no-huge = true\n";
    for (const LabEndpoint& endpoint : host.endpoints) text += endpoint_section(endpoint);
    return text;
}

}  // namespace

SpawnSettings settle(const Lab& lab, const std::string& run_dir) {
    SpawnSettings settings{run_dir,      lab.poll, lab.memory_mib, true, lab.switches.size() + lab.hosts.size(),
                           usable_cpus()};
    const std::uint64_t each = lab.memory_mib > 0 ? static_cast<std::uint64_t>(lab.memory_mib) : kDefaultMemoryMib;
    const std::uint64_t needed = each * settings.processes;
    const std::uint64_t available = free_hugepage_mib();
    settings.huge = lab.hugepages && available >= needed;
    if (!lab.hugepages) fmt::print("hugepages: off by the lab's file\n");
    if (lab.hugepages && !settings.huge) {
        fmt::print("hugepages: {} MiB free, {} MiB needed: running with --no-huge (slower, works as well)\n", available,
                   needed);
    }
    return settings;
}

Status make_folder(const std::string& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) return Error{fmt::format("{}: {}", path, error.message())};
    ::chmod(path.c_str(), 0755);
    return Done{};
}

Result<Spawn> prepare_switch(const LabSwitch& sw, const SpawnSettings& settings, std::size_t index) {
    const Result<std::string> program = find_program("switch", "vroce-switch");
    if (!program) return Error{program.error()};
    const std::string dir = fmt::format("{}/{}", settings.run_dir, sw.name);
    if (Status s = make_folder(dir); !s) return Error{s.error()};
    if (Status s = write_text(dir + "/config.json", sw.config.dump(2) + "\n"); !s) return Error{s.error()};
    Spawn spawn{{*program, "--name", sw.name, "--config", dir + "/config.json", "--run-dir", settings.run_dir},
                dir + "/log",
                settings.run_dir};
    if (const auto cpu = cpu_of(settings, index)) spawn.argv.insert(spawn.argv.end(), {"--cpu", std::to_string(*cpu)});
    if (settings.memory_mib > 0)
        spawn.argv.insert(spawn.argv.end(), {"--memory-mib", std::to_string(settings.memory_mib)});
    if (!settings.poll.empty()) spawn.argv.insert(spawn.argv.end(), {"--poll", settings.poll});
    if (!settings.huge) spawn.argv.push_back("--no-huge");
    return spawn;
}

Result<Spawn> prepare_host(const Lab& lab, const LabHost& host, const SpawnSettings& settings, std::size_t index) {
    const Result<std::string> program = find_program("nic", "vroce-nic");
    if (!program) return Error{program.error()};
    const std::string dir = fmt::format("{}/{}", settings.run_dir, host.name);
    if (Status s = make_folder(dir); !s) return Error{s.error()};
    if (Status s = write_text(dir + "/config.ini", host_file(lab, host, settings, index)); !s) return Error{s.error()};
    return Spawn{{*program, "--config", dir + "/config.ini"}, dir + "/log", settings.run_dir};
}

}  // namespace vroce::tools
