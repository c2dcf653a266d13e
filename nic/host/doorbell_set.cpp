#include "nic/host/doorbell_set.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>

namespace vroce::nic {

DoorbellSet::DoorbellSet() : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)) {}

UniqueFd DoorbellSet::add() {
    UniqueFd doorbell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    // Edge-triggered: each ringing is reported once, and the count is never read, by which its holder could confuse us.
    epoll_event event{EPOLLIN | EPOLLET, {.fd = doorbell.get()}};
    if (!doorbell || epoll_ctl(epoll_fd_.get(), EPOLL_CTL_ADD, doorbell.get(), &event) != 0) return UniqueFd();
    return doorbell;
}

void DoorbellSet::remove(const UniqueFd& doorbell) {
    if (doorbell) epoll_ctl(epoll_fd_.get(), EPOLL_CTL_DEL, doorbell.get(), nullptr);
}

void DoorbellSet::clear() {
    std::array<epoll_event, 64> events{};
    while (epoll_wait(epoll_fd_.get(), events.data(), static_cast<int>(events.size()), 0) ==
           static_cast<int>(events.size())) {
    }
}

}  // namespace vroce::nic
