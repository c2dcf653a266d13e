// What `lab up` made, written to <run-dir>/lab.json before it is made, so that `lab down` finds it after any crash.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "tools/lab/process.hpp"

namespace vroce::tools {

struct LabProcess {
    std::string name;  // sw1, h1
    std::string kind;  // switch, nic
    ProcessId id;
    std::string log;
};

struct LabPlace {
    std::string host, vm, device, interface;
    std::string netns;
    std::string path;  // <run-dir>/<host>/<vm>
    std::vector<std::string> addresses;
};

struct LabState {
    std::string name;
    std::string file;
    nlohmann::json definition;
    std::vector<LabProcess> processes;
    std::vector<LabPlace> places;
};

/// None when no lab is up there; an Error when the file cannot be understood.
Result<std::optional<LabState>> read_state(const std::string& run_dir);
Status write_state(const std::string& run_dir, const LabState& state);

/// The endpoint that "h1" or "h1/vm2" names, or one line that says which there are.
Result<LabPlace> find_place(const LabState& state, const std::string& name);

/// Held while a lab is brought up or down, so that two at a time cannot mix.
class LabLock {
public:
    static Result<LabLock> take(const std::string& run_dir);
    LabLock(LabLock&& other) noexcept : fd_(other.fd_), path_(other.path_) { other.fd_ = -1; }
    LabLock(const LabLock&) = delete;
    LabLock& operator=(const LabLock&) = delete;
    LabLock& operator=(LabLock&&) = delete;
    ~LabLock();

private:
    LabLock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
    int fd_;
    std::string path_;
};

}  // namespace vroce::tools
