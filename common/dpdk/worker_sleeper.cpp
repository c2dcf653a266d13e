#include "common/dpdk/worker_sleeper.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace vroce {

namespace {
/// A deadline closer than a sleep and wake-up costs is polled for.
constexpr Duration kShortestSleep = microseconds(2);
/// Who takes the core for so long does not give it back by itself; other workers do. Beside such a program a sleeper is
/// better off: the kernel lets one that wakes go first, and lets one that offers go last.
constexpr Duration kLongTaken = milliseconds(1);
/// For so long it is not offered again, and twice as long each time that this was in vain.
constexpr Duration kCrowdedTimeMin = milliseconds(20);
constexpr Duration kCrowdedTimeMax = milliseconds(640);
}  // namespace

WorkerSleeper::WorkerSleeper(PollMode mode, Duration empty_poll_limit)
    : mode_(mode),
      empty_poll_limit_(empty_poll_limit),
      crowded_time_(kCrowdedTimeMin),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)) {}

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
    if (mode_ == PollMode::Busy) return false;
    if (offered_ != kNever) learn_from_offer(now);
    if (worked) {
        last_work_ = now;
        return false;
    }
    if (now < crowded_until_ || now - last_work_ >= empty_poll_limit_) return true;
    offered_ = now;
    sched_yield();
    return false;
}

void WorkerSleeper::learn_from_offer(Instant now) {
    const bool long_taken = now - offered_ >= kLongTaken;
    offered_ = kNever;
    if (!long_taken) {
        crowded_time_ = kCrowdedTimeMin;
        return;
    }
    crowded_until_ = now + crowded_time_;
    crowded_time_ = std::min(crowded_time_ * 2, kCrowdedTimeMax);
}

void WorkerSleeper::sleep(Instant now, Instant deadline) {
    ready_ = 0;
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
    ++sleeps_;
    const int room = static_cast<int>(events_.size());
    long ready =
        syscall(SYS_epoll_pwait2, epoll_fd_, events_.data(), room, deadline == kNever ? nullptr : &timeout, nullptr, 0);
    if (ready < 0 && errno == ENOSYS) {
        const std::int64_t ms = deadline == kNever ? -1 : (deadline - now).ps / 1'000'000'000;
        ready = epoll_wait(epoll_fd_, events_.data(), room, static_cast<int>(ms));
    }
    ready_ = ready > 0 ? static_cast<std::size_t>(ready) : 0;
}

bool WorkerSleeper::was_woken_by(int fd) const {
    const auto end = events_.begin() + static_cast<std::ptrdiff_t>(ready_);
    return std::any_of(events_.begin(), end, [fd](const epoll_event& e) { return e.data.fd == fd; });
}

}  // namespace vroce
