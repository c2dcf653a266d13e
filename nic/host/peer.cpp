#include "nic/host/peer.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace vroce::nic {
namespace {

/// Of the process itself where the kernel offers it (6.5); by number before, when it could be another's in theory.
UniqueFd pidfd_of_peer(int socket, pid_t pid, bool& dead) {
    int fd = -1;
    socklen_t size = sizeof fd;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) return UniqueFd(fd);
    dead = errno == ESRCH;
    if (dead || pid <= 0) return UniqueFd();
    UniqueFd by_number(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    dead = !by_number && errno == ESRCH;
    return by_number;
}

bool has_access(int fd, bool writable) {
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_PATH) != 0) return false;
    const int access = flags & O_ACCMODE;
    return access == O_RDWR || (!writable && access == O_RDONLY);
}

/// Asked first, since it does not ask the file's file system anything.
std::string_view last_name_of(int fd, std::array<char, 256>& buffer) {
    std::array<char, 32> link{};
    std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link.data(), buffer.data(), buffer.size());
    if (size <= 0) return {};
    const std::string_view path(buffer.data(), static_cast<std::size_t>(size));
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::optional<Peer> identify_peer(int socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
    bool dead = false;
    Peer peer{credentials.pid, credentials.uid, credentials.gid, pidfd_of_peer(socket, credentials.pid, dead)};
    if (dead) return std::nullopt;
    return peer;
}

bool is_process_memory(int fd) {
    std::array<char, 256> buffer{};
    if (!has_access(fd, true) || last_name_of(fd, buffer) != "mem") return false;
    struct statfs system {};
    return fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

bool is_memory_file(int fd, std::uint64_t bytes, bool writable) {
    if (!has_access(fd, writable)) return false;
    struct statfs system {};
    if (fstatfs(fd, &system) != 0) return false;
    if (system.f_type != TMPFS_MAGIC && system.f_type != HUGETLBFS_MAGIC) return false;
    struct stat file {};
    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && static_cast<std::uint64_t>(file.st_size) >= bytes;
}

}  // namespace vroce::nic
