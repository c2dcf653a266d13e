// fork, exec, wait.
#include "tests/unit/switch/switch_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/control/control_client.hpp"

namespace vroce::sw::test {
namespace {

constexpr int kTries = 400;
constexpr std::chrono::milliseconds kStep{50};

[[noreturn]] void become_switch(const std::vector<std::string>& arguments, const std::string& errors_file, uid_t uid) {
    const int errors = open(errors_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    dup2(errors, STDERR_FILENO);
    if (uid != 0 && (setgid(uid) != 0 || setuid(uid) != 0)) _exit(126);
    const char* program = std::getenv("VROCE_SWITCH");
    std::vector<char*> argv{const_cast<char*>(program)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(program, argv.data());
    _exit(127);
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
    char name[] = "/tmp/vroce-test-XXXXXX";
    path_ = mkdtemp(name);
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
}

SwitchProcess::SwitchProcess(const std::vector<std::string>& arguments, uid_t uid) {
    char name[] = "/tmp/vroce-test-errors-XXXXXX";
    close(mkstemp(name));
    errors_file_ = name;
    pid_ = fork();
    if (pid_ == 0) become_switch(arguments, errors_file_, uid);
}

SwitchProcess::~SwitchProcess() {
    if (!reaped_) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    unlink(errors_file_.c_str());
}

bool SwitchProcess::await_ready(const std::string& control_socket) {
    for (int i = 0; i < kTries; ++i) {
        const auto status = control_call(control_socket, "status");
        if (status && (*status)["pid"] == pid_) return true;
        if (reap()) return false;
        std::this_thread::sleep_for(kStep);
    }
    return false;
}

void SwitchProcess::signal(int number) {
    kill(pid_, number);
}

int SwitchProcess::wait() {
    for (int i = 0; i < kTries && !reap(); ++i) std::this_thread::sleep_for(kStep);
    return code_;
}

bool SwitchProcess::reap() {
    int status = 0;
    if (!reaped_ && waitpid(pid_, &status, WNOHANG) == pid_) {
        reaped_ = true;
        code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return reaped_;
}

std::string SwitchProcess::errors() const {
    std::ostringstream text;
    text << std::ifstream(errors_file_).rdbuf();
    return text.str();
}

nlohmann::json ask(const std::string& control_socket, const std::string& command, const nlohmann::json& args) {
    const auto answer = control_call(control_socket, command, args);
    if (!answer) {
        ADD_FAILURE() << command << ": " << answer.error();
        return nlohmann::json::object();
    }
    return *answer;
}

}  // namespace vroce::sw::test
