// A lock on the directory itself leaves no file behind and needs no repair after kill -9.
#include "switch/io/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace vroce::sw {
namespace {

/// Bytes that the longest socket's name adds: PATH/PORT.doorbell with a PORT of 32 bytes, or DPDK's telemetry,
/// PATH/dpdk/NAME/dpdk_telemetry.v2:N.
std::size_t longest_name(const std::string& name) {
    return std::max<std::size_t>(42, name.size() + 27);
}

}  // namespace

Result<RunDirectory> RunDirectory::take(const std::string& run_dir, const std::string& name) {
    const std::string path = std::filesystem::absolute(run_dir).lexically_normal() / name;
    if (path.size() + longest_name(name) >= sizeof(sockaddr_un::sun_path)) {
        return Error{fmt::format("{}: too long for the sockets in it; allowed: {} bytes", path,
                                 sizeof(sockaddr_un::sun_path) - 1 - longest_name(name))};
    }
    std::error_code problem;
    std::filesystem::create_directories(path, problem);
    if (problem) return Error{fmt::format("{}: cannot be made: {}", path, problem.message())};
    const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || access(path.c_str(), W_OK | X_OK) != 0) {
        const Error error{fmt::format("{}: cannot be used: {}", path, std::strerror(errno))};
        if (fd >= 0) close(fd);
        return error;
    }
    RunDirectory directory(path, fd);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return Error{
            fmt::format("{}: another process named \"{}\" is running; allowed: one a run directory", path, name)};
    }
    return directory;
}

RunDirectory::~RunDirectory() {
    if (fd_ < 0) return;
    std::error_code ignored;
    std::filesystem::remove_all(file("dpdk"), ignored);  // DPDK leaves the folders of its telemetry socket
    rmdir(path_.c_str());                                // fails, as it should, while somebody's log is in it
    close(fd_);
}

}  // namespace vroce::sw
