#include "nic/io/netlink/network_namespace.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace vroce::nic {

Status run_in_netns(const std::string& path, const std::function<Status()>& function) {
    if (path.empty()) return function();
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return Error{fmt::format("netns = {}: {}; 'ip netns add' makes one", path, std::strerror(errno))};
    Status result = Done{};
    std::thread([&] {
        if (::setns(fd, CLONE_NEWNET) == 0) {
            result = function();
        } else {
            result = Error{fmt::format("netns = {}: {}; a network namespace's file is allowed, and it needs root", path,
                                       std::strerror(errno))};
        }
    }).join();
    ::close(fd);
    return result;
}

}  // namespace vroce::nic
