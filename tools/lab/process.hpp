// The lab's processes: started in sessions of their own, known by pid and start time (a pid alone may be another's).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace vroce::tools {

struct ProcessId {
    pid_t pid = 0;
    std::uint64_t start_time = 0;  // clock ticks since boot, field 22 of /proc/PID/stat

    bool operator==(const ProcessId&) const = default;
};

struct Spawn {
    std::vector<std::string> argv;
    std::string log;      // both outputs are appended to it
    std::string run_dir;  // put into the environment as VROCE_LAB, by which `lab down` finds it after any crash
};

/// Starts a process that outlives us and no terminal signal reaches.
Result<ProcessId> spawn(const Spawn& what);

/// The identity of a living process; none when it is gone or a zombie.
std::optional<ProcessId> identify(pid_t pid);
bool alive(const ProcessId& id);

/// TERM, then KILL after the grace time; waits until it is gone. False when it would not go.
bool stop(const ProcessId& id, std::chrono::milliseconds grace);

/// How a child of ours ended ("exit code 1", "signal 9"), if it did.
std::optional<std::string> ended(const ProcessId& id);

/// Processes that were spawned for this run directory, known or not.
std::vector<ProcessId> spawned_for(const std::string& run_dir);

/// Processes inside the network namespace behind this file, but for ourselves.
std::vector<ProcessId> inside_netns(const std::string& netns_path);

/// The command line, for people.
std::string command_line(pid_t pid);

/// The last lines of a log, indented, or what kept us from reading it.
std::string last_lines(const std::string& path, std::size_t lines);

}  // namespace vroce::tools
