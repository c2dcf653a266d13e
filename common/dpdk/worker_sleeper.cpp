#include "common/dpdk/worker_sleeper.hpp"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace vroce {

namespace {
/// A deadline closer than a sleep and wake-up costs is polled for.
constexpr Duration kShortestSleep = microseconds(2);
}  // namespace

WorkerSleeper::WorkerSleeper(PollMode mode, Duration empty_poll_limit)
    : mode_(mode), empty_poll_limit_(empty_poll_limit), epoll_fd_(epoll_create1(EPOLL_CLOEXEC)) {}

WorkerSleeper::~WorkerSleeper() {
    close(epoll_fd_);
}

void WorkerSleeper::add(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
}

void WorkerSleeper::remove(int fd) {
    epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

bool WorkerSleeper::should_sleep(Instant now, bool worked) {
    if (worked) last_work_ = now;
    return mode_ == PollMode::Adaptive && now - last_work_ >= empty_poll_limit_;
}

void WorkerSleeper::sleep(Instant now, Instant deadline) {
    if (deadline != kNever && deadline - now < kShortestSleep) return;
    if (timer_slack_set_ == 0) {
        // The default slack of 50 us would be a retransmission timer's error and a paced port's gap.
        prctl(PR_SET_TIMERSLACK, 1'000);
        timer_slack_set_ = 1;
    }
    timespec timeout{};
    if (deadline != kNever) {
        const std::int64_t ns = (deadline - now).ps / 1'000;
        timeout.tv_sec = ns / 1'000'000'000;
        timeout.tv_nsec = ns % 1'000'000'000;
    }
    std::array<epoll_event, 8> events{};
    ++sleeps_;
    const long ready = syscall(SYS_epoll_pwait2, epoll_fd_, events.data(), static_cast<int>(events.size()),
                               deadline == kNever ? nullptr : &timeout, nullptr, 0);
    if (ready >= 0 || errno != ENOSYS) return;
    const std::int64_t ms = deadline == kNever ? -1 : (deadline - now).ps / 1'000'000'000;
    epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), static_cast<int>(ms));
}

}  // namespace vroce
