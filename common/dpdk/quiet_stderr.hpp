// Standard error, put aside while DPDK prints what nobody asked for: an error of ours is one line, with DPDK's last
// words in it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace vroce {

/// Puts standard error aside from construction to restore().
class QuietStderr {
public:
    QuietStderr() : saved_(dup(STDERR_FILENO)), captured_(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
        if (captured_ >= 0) dup2(captured_, STDERR_FILENO);
    }
    ~QuietStderr() {
        restore();
        if (captured_ >= 0) close(captured_);
    }
    QuietStderr(const QuietStderr&) = delete;
    QuietStderr& operator=(const QuietStderr&) = delete;

    void restore() {
        if (saved_ < 0) return;
        fflush(stderr);
        dup2(saved_, STDERR_FILENO);
        close(saved_);
        saved_ = -1;
    }
    /// What was printed, for an error message: the first line names the cause, where more follow from it.
    [[nodiscard]] std::string first_line() const {
        const std::string text = printed();
        return text.substr(0, text.find('\n'));
    }
    [[nodiscard]] std::string last_line() const {
        const std::string text = printed();
        const std::size_t line = text.rfind('\n');
        return line == std::string::npos ? text : text.substr(line + 1);
    }

private:
    /// The last 4 KiB, without newlines at the end.
    [[nodiscard]] std::string printed() const {
        std::string text(4096, '\0');
        const off_t end = lseek(captured_, 0, SEEK_END);
        const off_t from = end > 4096 ? end - 4096 : 0;
        const ssize_t size = pread(captured_, text.data(), text.size(), from);
        text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
        while (!text.empty() && text.back() == '\n') text.pop_back();
        return text;
    }

    int saved_;
    int captured_;
};

}  // namespace vroce
