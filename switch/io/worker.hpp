// The thread that moves packets: it owns the core and the devices, reads the clock once a round, and sleeps when there
// is nothing to do.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/counters/loop_counters.hpp"
#include "common/dpdk/capture.hpp"
#include "common/dpdk/clock.hpp"
#include "common/dpdk/mailbox.hpp"
#include "common/dpdk/worker_sleeper.hpp"
#include "switch/core/switch.hpp"
#include "switch/io/io_port.hpp"

namespace vroce::sw {

struct WorkerCounters {
    LoopCounters loop;
    std::uint64_t busy_iterations = 0;  ///< how many moved a packet
    std::uint64_t link_changes = 0;
};

class Worker {
public:
    Worker(Switch& core, IoPorts& ports, MbufPool& pool, Mailbox& mailbox, PollMode mode, bool rx_hold);

    /// Until stop(); everything below is the worker's own or reaches it through the mailbox.
    void run();
    void stop() { stop_ = true; }

    /// Frames of these ports are recorded from now on; nullptr: of none.
    void set_capture(Capture* capture, PortSet ports);

    Instant now() const { return clock_.now(); }
    const WorkerCounters& counters() const { return counters_; }
    std::uint64_t sleeps() const { return sleeper_.sleeps(); }

private:
    bool check_links(Instant now);
    bool receive_all(Instant now);
    bool must_wait(Instant now, IoPort& port);
    bool receive_port(Instant now, IoPort& port);
    void receive_through_fault(Instant now, IoPort& port, std::span<Packet* const> packets);
    bool hold_back(Instant now);
    void sleep(Instant now);
    Instant next_deadline(Instant now) const;

    Switch& core_;
    IoPorts& ports_;
    MbufPool& pool_;
    Mailbox& mailbox_;
    const bool rx_hold_;
    bool stop_ = false;
    TscClock clock_;
    WorkerSleeper sleeper_;
    Instant next_link_check_{};
    Instant held_since_ = kNever;
    Capture* capture_ = nullptr;
    PortSet captured_ = 0;
    WorkerCounters counters_;
};

}  // namespace vroce::sw
