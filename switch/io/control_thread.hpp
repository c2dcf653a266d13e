// The thread beside the worker: control socket, doorbells, signals. It may block and allocate; the worker may not.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "common/base/result.hpp"
#include "common/control/control_server.hpp"
#include "common/dpdk/mailbox.hpp"
#include "switch/io/io_port.hpp"
#include "switch/io/worker.hpp"

namespace vroce::sw {

/// SIGTERM and SIGINT are blocked in this thread and in all that it starts from now on, so that only the control thread
/// takes them. Call first of all.
void block_signals();

class ControlThread {
public:
    /// Starts the thread, which calls `each_second` about so often. SIGTERM or SIGINT stops the worker.
    ControlThread(ControlServer& server, IoPorts& ports, Worker& worker, Mailbox& mailbox,
                  std::function<void()> each_second);
    /// Stops the thread and waits for it.
    ~ControlThread();
    ControlThread(const ControlThread&) = delete;
    ControlThread& operator=(const ControlThread&) = delete;

private:
    void run();
    void watch(int fd);
    bool all_doorbells_connected() const;
    void serve_doorbells();
    void take_signal();
    void tick();

    ControlServer& server_;
    IoPorts& ports_;
    Worker& worker_;
    Mailbox& mailbox_;
    std::function<void()> each_second_;
    std::chrono::steady_clock::time_point next_tick_;
    int epoll_fd_;
    int signal_fd_;
    int stop_fd_;
    std::thread thread_;
};

}  // namespace vroce::sw
