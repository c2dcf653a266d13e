#include "tools/lab/netns.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vroce::tools {
namespace {

constexpr const char* kNetnsDir = "/run/netns";

Error failed(const std::string& what, int error) {
    return Error{fmt::format("{}: {}", what, std::strerror(error))};
}

bool loopback_up() {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    const bool up = fd >= 0 && ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0) ::close(fd);
    return up;
}

/// In a child, so that we stay where we are: a new namespace, bound to the file. Returns 0 or an errno.
int bind_new_namespace(const std::string& path) {
    if (::unshare(CLONE_NEWNET) != 0) return errno;
    if (!loopback_up()) return errno;
    return ::mount("/proc/self/ns/net", path.c_str(), nullptr, MS_BIND, nullptr) == 0 ? 0 : errno;
}

/// The child's exit status carries what the function returned (0-255).
int in_child(const std::function<int()>& function) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(function());
    int status = 0;
    if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

}  // namespace

std::string netns_path(const std::string& lab, const std::string& host) {
    return fmt::format("{}/vroce-{}-{}", kNetnsDir, lab, host);
}

Status create_netns(const std::string& path) {
    if (::mkdir(kNetnsDir, 0755) != 0 && errno != EEXIST) return failed(kNetnsDir, errno);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
    if (fd < 0 && errno == EEXIST) {
        return Error{
            fmt::format("{} exists: another lab of this name is up, or 'ip netns del {}' removes what was left", path,
                        path.substr(std::strlen(kNetnsDir) + 1))};
    }
    if (fd < 0) return failed(path, errno);
    ::close(fd);
    if (const int error = in_child([&] { return bind_new_namespace(path); }); error != 0) {
        ::unlink(path.c_str());
        return failed("network namespace " + path, error);
    }
    return Done{};
}

Status delete_netns(const std::string& path) {
    if (::umount2(path.c_str(), MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT) return failed(path, errno);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed(path, errno);
    ::rmdir(kNetnsDir);  // only when it is empty and nobody mounted it
    return Done{};
}

bool netns_exists(const std::string& path) {
    struct statfs fs {};
    return ::statfs(path.c_str(), &fs) == 0 && fs.f_type == NSFS_MAGIC;
}

Status enter_netns(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return failed(path, errno);
    const int error = ::setns(fd, CLONE_NEWNET) == 0 ? 0 : errno;
    ::close(fd);
    if (error != 0) return failed("enter " + path, error);
    return Done{};
}

bool ask_in_netns(const std::string& path, const std::function<bool()>& probe) {
    return in_child([&] { return enter_netns(path) && probe() ? 0 : 1; }) == 0;
}

}  // namespace vroce::tools
