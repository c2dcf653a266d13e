// The thread beside the worker: control socket, doorbells, signals. It may block and allocate; the worker may not.
#pragma once

#include <atomic>
#include <memory>
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
    /// Starts the thread. SIGTERM or SIGINT stops the worker.
    ControlThread(ControlServer& server, IoPorts& ports, Worker& worker, Mailbox& mailbox);
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

    ControlServer& server_;
    IoPorts& ports_;
    Worker& worker_;
    Mailbox& mailbox_;
    int epoll_fd_;
    int signal_fd_;
    int stop_fd_;
    std::thread thread_;
};

}  // namespace vroce::sw
