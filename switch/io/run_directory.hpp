// The process's own directory, RUN-DIR/NAME: made when absent, and held by one process at a time.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace vroce::sw {

class RunDirectory {
public:
    /// Refuses a directory that another process of this name holds, or that cannot be made or written.
    static Result<RunDirectory> take(const std::string& run_dir, const std::string& name);
    /// Gives the directory back, and removes it when nothing is left in it.
    ~RunDirectory();
    RunDirectory(RunDirectory&& other) noexcept : path_(std::move(other.path_)), fd_(other.fd_) { other.fd_ = -1; }
    RunDirectory(const RunDirectory&) = delete;
    RunDirectory& operator=(const RunDirectory&) = delete;

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    RunDirectory(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

    std::string path_;
    int fd_;  ///< locked: the kernel lets go of it however the process ends
};

}  // namespace vroce::sw
