// A lock on the directory itself leaves no file behind and needs no repair after kill -9.
#include "switch/io/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace vroce::sw {

Result<RunDirectory> RunDirectory::take(const std::string& run_dir, const std::string& name) {
    const std::string path = std::filesystem::absolute(run_dir).lexically_normal() / name;
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
    rmdir(path_.c_str());  // fails, as it should, while somebody's log is in it
    close(fd_);
}

}  // namespace vroce::sw
