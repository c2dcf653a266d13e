#include "nic/io/run_directory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace vroce::nic {

Result<RunDirectory> RunDirectory::take(const std::string& run_dir, const std::string& name) {
    const std::string path = run_dir + "/" + name;
    std::error_code error;
    if (std::filesystem::create_directories(path, error); error) {
        return Error{fmt::format("{}: {}; a run directory that can be made is allowed", path, error.message())};
    }
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || ::access(path.c_str(), W_OK | X_OK) != 0) {
        const int why = errno;
        if (fd >= 0) ::close(fd);
        return Error{fmt::format("{}: {}; a run directory that can be written is allowed", path, std::strerror(why))};
    }
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ::close(fd);
        return Error{
            fmt::format("name = {}: another process has it in {}; one process a name is allowed", name, run_dir)};
    }
    // Programs of other users open the endpoints' sockets below it.
    ::chmod(path.c_str(), 0755);
    return RunDirectory(path, fd);
}

RunDirectory::~RunDirectory() {
    if (fd_ < 0) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_ + "/dpdk", ignored);  // DPDK leaves its folders
    ::rmdir(path_.c_str());                                 // fails, as it should, while there is a log in it
    ::close(fd_);
}

}  // namespace vroce::nic
