#include "provider/src/event_pipe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace vroce::provider {
namespace {

/// Writes at most this much at once: POSIX keeps writes of up to PIPE_BUF bytes whole, so records never tear.
constexpr std::size_t kAtomicBytes = 4096;
constexpr std::size_t kScratchBytes = 65536;

/// The reader may have closed its end, which must not end the process: SIGPIPE is taken off this thread.
class NoSigpipe {
public:
    NoSigpipe() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~NoSigpipe() {
        const timespec now{};
        if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_pending_ = false;
};

}  // namespace

EventPipe::~EventPipe() {
    if (write_fd_ >= 0) close(write_fd_);
}

void EventPipe::open(int read_fd, int write_fd) {
    read_fd_ = read_fd;
    write_fd_ = write_fd;
}

// splice with SPLICE_F_NONBLOCK empties the pipe without blocking, whatever the application set on its descriptor, and
// without opening it a second time, which the pipe's owner (perhaps another user) might not allow.
std::vector<std::byte> EventPipe::take_all() {
    std::vector<std::byte> all;
    std::array<int, 2> scratch{-1, -1};
    if (pipe2(scratch.data(), O_CLOEXEC | O_NONBLOCK) != 0) return all;
    for (;;) {
        const ssize_t moved = splice(read_fd_, nullptr, scratch[1], nullptr, kScratchBytes, SPLICE_F_NONBLOCK);
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0) break;
        const std::size_t before = all.size();
        all.resize(before + static_cast<std::size_t>(moved));
        for (std::size_t done = before; done < all.size();) {
            const ssize_t count = read(scratch[0], all.data() + done, all.size() - done);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) break;
            done += static_cast<std::size_t>(count);
        }
    }
    close(scratch[0]);
    close(scratch[1]);
    return all;
}

std::uint32_t EventPipe::withdraw(std::uint64_t element) {
    const std::lock_guard guard(mutex_);
    std::vector<std::byte> all = take_all();
    all.insert(all.begin(), held_.begin(), held_.end());
    held_.clear();
    std::uint32_t withdrawn = 0;
    std::size_t kept = 0;
    for (std::size_t at = 0; at + record_bytes_ <= all.size(); at += record_bytes_) {
        std::uint64_t whose = 0;
        std::memcpy(&whose, all.data() + at, sizeof whose);
        if (whose == element) {
            ++withdrawn;
        } else {
            if (kept != at) std::memmove(all.data() + kept, all.data() + at, record_bytes_);
            kept += record_bytes_;
        }
    }
    put_back(all.data(), kept);
    return withdrawn;
}

void EventPipe::add(const void* record) {
    const std::lock_guard guard(mutex_);
    put_back(static_cast<const std::byte*>(record), record_bytes_);
}

bool EventPipe::flush_held() {
    const std::lock_guard guard(mutex_);
    const std::vector<std::byte> held = std::move(held_);
    held_.clear();
    put_back(held.data(), held.size());
    return held_.empty();
}

void EventPipe::put_back(const std::byte* bytes, std::size_t size) {
    if (size == 0) return;
    const NoSigpipe quiet;
    while (size > 0 && held_.empty()) {
        const ssize_t written = write(write_fd_, bytes, std::min(size, kAtomicBytes));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno != EAGAIN) return;  // no reader is left: nobody misses them
        if (written < 0) break;
        bytes += written;
        size -= static_cast<std::size_t>(written);
    }
    held_.insert(held_.end(), bytes, bytes + size);
}

}  // namespace vroce::provider
