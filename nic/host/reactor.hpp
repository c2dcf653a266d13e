// Descriptors and timers of the control thread behind one epoll descriptor. Callbacks may add and remove anything,
// themselves too.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "nic/host/record_socket.hpp"

namespace vroce::nic {

class Reactor {
public:
    using Token = std::uint64_t;  ///< 0: none
    using Ready = std::function<void(std::uint32_t events)>;

    Reactor();
    Reactor(const Reactor&) = delete;
    Reactor& operator=(const Reactor&) = delete;

    /// `events`: EPOLLIN…; 0 when the kernel refuses the descriptor. It stays the caller's and must stay open until
    /// remove.
    [[nodiscard]] Token add(int fd, std::uint32_t events, Ready ready);
    void change(Token token, std::uint32_t events);
    void remove(Token token);

    /// Calls once, not before `delay` has passed.
    Token after(std::chrono::milliseconds delay, std::function<void()> call);
    void cancel(Token timer);

    [[nodiscard]] int fd() const { return epoll_fd_.get(); }
    /// Calls whoever is ready now; never waits.
    void serve();

private:
    using Clock = std::chrono::steady_clock;
    struct Entry {
        int fd;
        Ready ready;
    };
    struct Timer {
        Clock::time_point due;
        std::function<void()> call;
    };
    void run_timers();
    void arm();

    UniqueFd epoll_fd_;
    UniqueFd timer_fd_;
    Token next_token_ = 1;
    std::map<Token, std::shared_ptr<Entry>> entries_;
    std::map<Token, Timer> timers_;
};

}  // namespace vroce::nic
