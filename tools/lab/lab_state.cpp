#include "tools/lab/lab_state.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace vroce::tools {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string state_path(const std::string& run_dir) {
    return run_dir + "/lab.json";
}

json to_json(const LabState& state) {
    json out = {{"version", 1}, {"name", state.name}, {"file", state.file}, {"definition", state.definition}};
    out["processes"] = json::array();
    out["endpoints"] = json::array();
    for (const LabProcess& p : state.processes) {
        out["processes"].push_back(
            {{"name", p.name}, {"kind", p.kind}, {"pid", p.id.pid}, {"start_time", p.id.start_time}, {"log", p.log}});
    }
    for (const LabPlace& p : state.places) {
        out["endpoints"].push_back({{"host", p.host},
                                    {"vm", p.vm},
                                    {"device", p.device},
                                    {"interface", p.interface},
                                    {"netns", p.netns},
                                    {"path", p.path},
                                    {"addresses", p.addresses}});
    }
    return out;
}

LabState from_json(const json& in) {
    LabState state{in.at("name"), in.at("file"), in.at("definition"), {}, {}};
    for (const json& p : in.at("processes")) {
        state.processes.push_back({p.at("name"), p.at("kind"), {p.at("pid"), p.at("start_time")}, p.at("log")});
    }
    for (const json& p : in.at("endpoints")) {
        state.places.push_back({p.at("host"), p.at("vm"), p.at("device"), p.at("interface"), p.at("netns"),
                                p.at("path"), p.at("addresses")});
    }
    return state;
}

}  // namespace

Result<std::optional<LabState>> read_state(const std::string& run_dir) {
    std::ifstream in(state_path(run_dir));
    if (!in) return std::optional<LabState>{};
    try {
        return std::optional(from_json(json::parse(in)));
    } catch (const json::exception& error) {
        return Error{fmt::format("{} is damaged: {}", state_path(run_dir), error.what())};
    }
}

Status write_state(const std::string& run_dir, const LabState& state) {
    const std::string temporary = state_path(run_dir) + ".new";
    {
        std::ofstream out(temporary, std::ios::trunc);
        out << to_json(state).dump(2) << '\n';
        out.flush();
        if (!out) return Error{fmt::format("{}: {}", temporary, std::strerror(errno))};
    }
    std::error_code error;
    fs::rename(temporary, state_path(run_dir), error);  // a reader sees the old one or the new one, never half
    return error ? Status(Error{state_path(run_dir) + ": " + error.message()}) : Status(Done{});
}

Result<LabPlace> find_place(const LabState& state, const std::string& name) {
    const auto slash = name.find('/');
    const std::string host = name.substr(0, slash);
    const std::string vm = slash == std::string::npos ? "" : name.substr(slash + 1);
    std::string known;
    for (const LabPlace& place : state.places) {
        if (place.host == host && (vm.empty() || place.vm == vm)) return place;
        known += fmt::format("{}{}/{}", known.empty() ? "" : ", ", place.host, place.vm);
    }
    return Error{fmt::format("no host '{}' in lab {}; there are {}", name, state.name, known)};
}

namespace {

/// The last holder removes the file; a lock on a file without a name locks nobody out.
bool still_named(int fd, const std::string& path) {
    struct stat held {
    }, named{};
    return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino;
}

}  // namespace

Result<LabLock> LabLock::take(const std::string& run_dir) {
    // Beside the folder, not inside: `down` removes the folder while it holds the lock.
    const std::string path = run_dir + ".lock";
    for (;;) {
        const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0) return Error{fmt::format("{}: {}", path, std::strerror(errno))};
        if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
            ::close(fd);
            return Error{fmt::format("{} is locked: another 'vroce lab' is at work there", path)};
        }
        if (still_named(fd, path)) return LabLock(fd, path);
        ::close(fd);
    }
}

LabLock::~LabLock() {
    if (fd_ < 0) return;
    ::unlink(path_.c_str());
    ::close(fd_);
}

}  // namespace vroce::tools
