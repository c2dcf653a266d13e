// The eventfds by which applications wake a sleeping worker: one for each session, behind one descriptor. A shared one
// could be read by any of its holders, who would steal the others' wake-ups, or filled, which would block them.
#pragma once

#include "nic/host/record_socket.hpp"

namespace vroce::nic {

class DoorbellSet {
public:
    DoorbellSet();

    /// Control thread: a new eventfd (non-blocking) in the set; empty when there are no more descriptors.
    [[nodiscard]] UniqueFd add();
    /// Before it is closed: the application holds the same open file.
    void remove(const UniqueFd& doorbell);

    /// Readable when one was rung since clear(); for the worker's epoll.
    [[nodiscard]] int fd() const { return epoll_fd_.get(); }
    /// Worker: before it looks for work.
    void clear();

private:
    UniqueFd epoll_fd_;
};

}  // namespace vroce::nic
