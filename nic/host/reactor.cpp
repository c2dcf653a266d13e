#include "nic/host/reactor.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

namespace vroce::nic {
namespace {

constexpr Reactor::Token kTimerToken = 0;  ///< of timer_fd_ itself
constexpr std::size_t kEventsPerRound = 64;

}  // namespace

Reactor::Reactor()
    : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)), timer_fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    epoll_event event{EPOLLIN, {.u64 = kTimerToken}};
    epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, timer_fd_.get(), &event);
}

Reactor::Token Reactor::add(int fd, std::uint32_t events, Ready ready) {
    const Token token = next_token_++;
    epoll_event event{events, {.u64 = token}};
    if (epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return 0;
    entries_[token] = std::make_shared<Entry>(Entry{fd, std::move(ready)});
    return token;
}

void Reactor::change(Token token, std::uint32_t events) {
    const auto entry = entries_.find(token);
    if (entry == entries_.end()) return;
    epoll_event event{events, {.u64 = token}};
    epoll_ctl(epoll_fd_.get(), EPOLL_CTL_MOD, entry->second->fd, &event);
}

void Reactor::remove(Token token) {
    const auto entry = entries_.find(token);
    if (entry == entries_.end()) return;
    epoll_ctl(epoll_fd_.get(), EPOLL_CTL_DEL, entry->second->fd, nullptr);
    entries_.erase(entry);
}

Reactor::Token Reactor::after(std::chrono::milliseconds delay, std::function<void()> call) {
    const Token token = next_token_++;
    timers_[token] = {Clock::now() + delay, std::move(call)};
    arm();
    return token;
}

void Reactor::cancel(Token timer) {
    if (timers_.erase(timer) != 0) arm();
}

void Reactor::serve() {
    std::array<epoll_event, kEventsPerRound> events{};
    const int count = epoll_wait(epoll_fd_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.u64 == kTimerToken) {
            run_timers();
            continue;
        }
        const auto found = entries_.find(event.data.u64);
        if (found == entries_.end()) continue;  // removed by a callback of this round
        const std::shared_ptr<Entry> entry = found->second;
        entry->ready(event.events);
    }
}

void Reactor::run_timers() {
    std::uint64_t expirations = 0;
    [[maybe_unused]] const auto got = read(timer_fd_.get(), &expirations, sizeof expirations);
    const auto now = Clock::now();
    std::vector<Token> due;
    for (const auto& [token, timer] : timers_)
        if (timer.due <= now) due.push_back(token);
    for (const Token token : due) {
        const auto timer = timers_.find(token);
        if (timer == timers_.end()) continue;  // cancelled by another
        const auto call = std::move(timer->second.call);
        timers_.erase(timer);
        call();
    }
    arm();
}

void Reactor::arm() {
    itimerspec when{};
    if (!timers_.empty()) {
        const auto first = std::min_element(timers_.begin(), timers_.end(),
                                            [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
        const auto wait = std::max<std::int64_t>(
            1, std::chrono::duration_cast<std::chrono::nanoseconds>(first->second.due - Clock::now()).count());
        when.it_value.tv_sec = wait / 1'000'000'000;
        when.it_value.tv_nsec = wait % 1'000'000'000;
    }
    timerfd_settime(timer_fd_.get(), 0, &when, nullptr);
}

}  // namespace vroce::nic
