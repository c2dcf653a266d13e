// When and how a worker waits for work (design D6). While there is work it polls. When there is none it offers its core
// to others and polls again when it has it back; after a while of that it sleeps on a descriptor set, with its next
// deadline, and is woken by doorbells. Offering costs a microsecond, where a sleep and a wake-up on another core cost
// tens of them on a virtual machine, and the one who wakes pays most of it.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/time.hpp"

namespace vroce {

enum class PollMode : std::uint8_t { Adaptive, Busy };

class WorkerSleeper {
public:
    explicit WorkerSleeper(PollMode mode, Duration empty_poll_limit = microseconds(50));
    ~WorkerSleeper();
    WorkerSleeper(const WorkerSleeper&) = delete;
    WorkerSleeper& operator=(const WorkerSleeper&) = delete;

    /// Descriptors whose readability wakes the worker; any thread.
    void add(int fd);
    void remove(int fd);

    /// Once per iteration: true when the worker has found nothing for long enough and should prepare to sleep (tell its
    /// peers, poll once more, then call sleep). When it found nothing and it is too early for that, the core was
    /// offered to others before this returns.
    [[nodiscard]] bool should_sleep(Instant now, bool worked);
    /// Sleeps until a descriptor is readable or until the deadline (kNever: for ever, `now` or earlier: not at all).
    void sleep(Instant now, Instant deadline);
    /// True when the last sleep() found this descriptor readable: the others need no system call now. One that is
    /// readable and was not reported ends the next sleep.
    [[nodiscard]] bool was_woken_by(int fd) const;

    [[nodiscard]] std::uint64_t sleeps() const { return sleeps_; }

private:
    /// How long the one had the core whom it was offered to.
    void learn_from_offer(Instant now);

    PollMode mode_;
    Duration empty_poll_limit_;
    Instant last_work_{};
    Instant offered_ = kNever;  ///< the core, in the last iteration; kNever: not then
    Instant crowded_until_{};
    Duration crowded_time_;  ///< the next one lasts so long
    int epoll_fd_;
    int timer_slack_set_ = 0;
    std::uint64_t sleeps_ = 0;
    std::array<epoll_event, 8> events_{};  ///< of the last sleep
    std::size_t ready_ = 0;
};

}  // namespace vroce
