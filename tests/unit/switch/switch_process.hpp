// A real vroce-switch as a child of the test, in a run directory of its own.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace vroce::sw::test {

/// A directory below /tmp that goes with the object.
class TemporaryDirectory {
public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    const std::string& path() const { return path_; }
    std::string write(const std::string& name, const std::string& text) const;

private:
    std::string path_;
};

class SwitchProcess {
public:
    /// Starts the program that the environment's VROCE_SWITCH names; `uid` other than 0: as that user.
    explicit SwitchProcess(const std::vector<std::string>& arguments, uid_t uid = 0);
    ~SwitchProcess();
    SwitchProcess(const SwitchProcess&) = delete;
    SwitchProcess& operator=(const SwitchProcess&) = delete;

    /// True when the control socket answers within 20 s.
    bool await_ready(const std::string& control_socket);
    void signal(int number);
    /// Exit code, or 128 + signal; waits at most 20 s, then kills (and gives -1).
    int wait();
    /// What it has written on standard error so far.
    std::string errors() const;
    pid_t pid() const { return pid_; }

private:
    bool reap();

    pid_t pid_ = -1;
    bool reaped_ = false;
    int code_ = -1;
    std::string errors_file_;
};

/// One command, its result; fails the test when the switch refuses it.
nlohmann::json ask(const std::string& control_socket, const std::string& command,
                   const nlohmann::json& args = nlohmann::json::object());

}  // namespace vroce::sw::test
