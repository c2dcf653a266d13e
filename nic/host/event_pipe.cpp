#include "nic/host/event_pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace vroce::nic {

Result<std::unique_ptr<EventPipe>> EventPipe::create(std::size_t record_bytes, std::size_t pipe_bytes) {
    std::unique_ptr<EventPipe> pipe(new EventPipe(record_bytes));
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return Error{std::string("pipe: ") + std::strerror(errno)};
    pipe->read_fd_ = ends[0];
    pipe->write_fd_ = ends[1];
    fcntl(pipe->write_fd_, F_SETPIPE_SZ, static_cast<int>(pipe_bytes));
    if (fcntl(pipe->write_fd_, F_SETFL, O_NONBLOCK) != 0) return Error{std::string("fcntl: ") + std::strerror(errno)};
    const std::string again = "/proc/self/fd/" + std::to_string(pipe->write_fd_);
    pipe->application_write_fd_ = open(again.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe->application_write_fd_ < 0) return Error{again + ": " + std::strerror(errno)};
    return pipe;
}

EventPipe::~EventPipe() {
    close_application_ends();
    close_fd(write_fd_);
}

void EventPipe::close_application_ends() {
    close_fd(read_fd_);
    close_fd(application_write_fd_);
}

void EventPipe::close_fd(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
}

EventFate EventPipe::write(std::uint64_t owner, std::uint32_t kind, std::span<const std::byte> record) {
    if (held_.empty()) {
        switch (try_write(owner, record.data())) {
            case Attempt::Done:
                return EventFate::Written;
            case Attempt::NoReader:
                return EventFate::NoReader;
            case Attempt::Full:
                break;
        }
    }
    // Each (owner, kind) is held once, which bounds what is held by the number of objects.
    if (!held_keys_.emplace(owner, kind).second) return EventFate::Merged;
    Held held{owner, kind, {}};
    std::copy_n(record.begin(), record_bytes_, held.record.begin());
    held_.push_back(held);
    holding_.store(true, std::memory_order_release);
    return EventFate::Held;
}

bool EventPipe::flush() {
    while (!held_.empty()) {
        const Held& first = held_.front();
        if (try_write(first.owner, first.record.data()) == Attempt::Full) return false;
        held_keys_.erase({first.owner, first.kind});
        held_.pop_front();
    }
    holding_.store(false, std::memory_order_release);
    return true;
}

std::uint32_t EventPipe::retire(std::uint64_t owner) {
    std::erase_if(held_, [owner](const Held& held) { return held.owner == owner; });
    std::erase_if(held_keys_, [owner](const auto& key) { return key.first == owner; });
    holding_.store(!held_.empty(), std::memory_order_release);
    const auto written = written_.find(owner);
    if (written == written_.end()) return 0;
    const std::uint32_t count = written->second;
    written_.erase(written);
    return count;
}

// Up to PIPE_BUF bytes are written whole or not at all.
EventPipe::Attempt EventPipe::try_write(std::uint64_t owner, const std::byte* record) {
    ssize_t count = 0;
    do {
        count = ::write(write_fd_, record, record_bytes_);
    } while (count < 0 && errno == EINTR);
    if (count == static_cast<ssize_t>(record_bytes_)) {
        ++written_[owner];
        return Attempt::Done;
    }
    return errno == EAGAIN ? Attempt::Full : Attempt::NoReader;
}

}  // namespace vroce::nic
