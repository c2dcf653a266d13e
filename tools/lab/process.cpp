#include "tools/lab/process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace vroce::tools {
namespace {

constexpr const char* kMark = "VROCE_LAB";

std::string read_all(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// In the child: nothing here returns to the caller's code; a failure to exec is told through the pipe.
[[noreturn]] void become(const Spawn& what, std::vector<char*>& argv, int log, int errors) {
    ::setsid();
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::setenv(kMark, what.run_dir.c_str(), 1);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (::chdir("/") == 0) ::execv(argv[0], argv.data());
    const int error = errno;
    static_cast<void>(!::write(errors, &error, sizeof error));
    ::_exit(127);
}

std::vector<pid_t> all_pids() {
    std::vector<pid_t> pids;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename().string();
        if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
            pids.push_back(static_cast<pid_t>(std::stol(name)));
        }
    }
    return pids;
}

/// True when all threads are gone. Until then a killed process holds its locks and sockets, although its first thread
/// is a zombie already and its memory is not there any more.
bool has_exited(pid_t pid) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd < 0) return true;
    pollfd p{fd, POLLIN, 0};
    const bool exited = ::poll(&p, 1, 0) > 0;
    ::close(fd);
    return exited;
}

/// A descriptor of exactly this process, so that no signal of ours can reach a later one with the same pid.
int open_pidfd(const ProcessId& id) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0));
    if (fd >= 0 && !alive(id)) {
        ::close(fd);
        return -1;
    }
    return fd;
}

bool gone_within(int pidfd, const ProcessId& id, std::chrono::milliseconds time) {
    pollfd p{pidfd, POLLIN, 0};
    const bool exited = ::poll(&p, 1, static_cast<int>(time.count())) > 0;
    if (exited) ::waitpid(id.pid, nullptr, WNOHANG);  // reaps it if it is our child
    return exited;
}

}  // namespace

Result<ProcessId> spawn(const Spawn& what) {
    const int log = ::open(what.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return Error{fmt::format("{}: {}", what.log, std::strerror(errno))};
    std::vector<char*> argv;
    for (const std::string& word : what.argv) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    int errors[2];
    if (::pipe2(errors, O_CLOEXEC) != 0) return Error{fmt::format("pipe: {}", std::strerror(errno))};
    const pid_t pid = ::fork();
    if (pid == 0) become(what, argv, log, errors[1]);
    ::close(log);
    ::close(errors[1]);
    int error = pid < 0 ? errno : 0;
    const bool told = pid > 0 && ::read(errors[0], &error, sizeof error) == sizeof error;
    ::close(errors[0]);
    if (told) ::waitpid(pid, nullptr, 0);
    if (pid < 0 || told) return Error{fmt::format("{}: {}", what.argv[0], std::strerror(error))};
    return identify(pid).value_or(ProcessId{pid, 0});
}

std::optional<ProcessId> identify(pid_t pid) {
    // "pid (any name, even with parentheses) S ppid …": fields are counted from the last parenthesis.
    const std::string stat = read_all(fmt::format("/proc/{}/stat", pid));
    const auto close = stat.rfind(')');
    if (close == std::string::npos || close + 2 >= stat.size()) return std::nullopt;
    std::istringstream fields(stat.substr(close + 2));
    std::string skipped;
    for (int field = 3; field < 22; ++field) fields >> skipped;
    ProcessId id{pid, 0};
    fields >> id.start_time;
    return fields && !has_exited(pid) ? std::optional(id) : std::nullopt;
}

bool alive(const ProcessId& id) {
    return id.pid > 0 && identify(id.pid) == id;
}

bool stop(const ProcessId& id, std::chrono::milliseconds grace) {
    const int pidfd = open_pidfd(id);
    if (pidfd < 0) {
        ::waitpid(id.pid, nullptr, WNOHANG);
        return true;
    }
    bool gone = false;
    for (const auto& [signal, time] :
         {std::pair{SIGTERM, grace}, std::pair{SIGKILL, std::chrono::milliseconds(5000)}}) {
        ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
        gone = gone_within(pidfd, id, time);
        if (gone) break;
    }
    ::close(pidfd);
    return gone;
}

std::optional<std::string> ended(const ProcessId& id) {
    // Asked for life first: one that ends between the two questions is still there to be waited for.
    const bool lives = alive(id);
    int status = 0;
    if (::waitpid(id.pid, &status, WNOHANG) == id.pid) {
        if (WIFSIGNALED(status)) return fmt::format("by signal {}", WTERMSIG(status));
        return fmt::format("with exit code {}", WEXITSTATUS(status));
    }
    return lives ? std::nullopt : std::optional<std::string>("unexpectedly");
}

std::vector<ProcessId> spawned_for(const std::string& run_dir) {
    std::vector<ProcessId> found;
    const std::string mark = fmt::format("{}={}", kMark, run_dir);
    for (const pid_t pid : all_pids()) {
        std::istringstream environment(read_all(fmt::format("/proc/{}/environ", pid)));
        for (std::string variable; std::getline(environment, variable, '\0');) {
            if (variable != mark) continue;
            if (const auto id = identify(pid)) found.push_back(*id);
        }
    }
    return found;
}

std::vector<ProcessId> inside_netns(const std::string& netns_path) {
    std::vector<ProcessId> found;
    struct stat wanted {};
    if (::stat(netns_path.c_str(), &wanted) != 0) return found;
    for (const pid_t pid : all_pids()) {
        struct stat has {};
        if (pid == ::getpid() || ::stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &has) != 0) continue;
        if (has.st_dev != wanted.st_dev || has.st_ino != wanted.st_ino) continue;
        if (const auto id = identify(pid)) found.push_back(*id);
    }
    return found;
}

std::string command_line(pid_t pid) {
    std::string line = read_all(fmt::format("/proc/{}/cmdline", pid));
    std::replace(line.begin(), line.end(), '\0', ' ');
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line.substr(0, 120);
}

std::string last_lines(const std::string& path, std::size_t lines) {
    std::ifstream in(path);
    if (!in) return fmt::format("    (no log at {})", path);
    std::deque<std::string> last;
    for (std::string line; std::getline(in, line);) {
        last.push_back(line);
        if (last.size() > lines) last.pop_front();
    }
    std::string text;
    for (const std::string& line : last) text += fmt::format("{}    {}", text.empty() ? "" : "\n", line);
    return text.empty() ? fmt::format("    ({} is empty)", path) : text;
}

}  // namespace vroce::tools
