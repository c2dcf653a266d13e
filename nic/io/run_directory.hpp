// The process's own folder, RUN-DIR/NAME: made when it is not there, held by one process at a time.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace vroce::nic {

class RunDirectory {
public:
    /// Refuses a folder that another process of this name holds, or that cannot be made or used.
    static Result<RunDirectory> take(const std::string& run_dir, const std::string& name);
    /// Removes the folder when nothing is left in it.
    ~RunDirectory();
    RunDirectory(RunDirectory&& other) noexcept : path_(std::move(other.path_)), fd_(other.fd_) { other.fd_ = -1; }
    RunDirectory(const RunDirectory&) = delete;
    RunDirectory& operator=(const RunDirectory&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    RunDirectory(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

    std::string path_;
    int fd_;  ///< locked: the kernel gives it back however the process ends, and no file is left
};

}  // namespace vroce::nic
