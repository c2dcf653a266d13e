// The loop is the architecture's picture: control, links, receive everything, timeouts, transmit, sleep.
#include "switch/io/worker.hpp"

#include <algorithm>
#include <array>

#include "switch/io/memory_plan.hpp"

namespace vroce::sw {
namespace {

constexpr Duration kLinkCheck = milliseconds(1);
/// A round takes at most what the rings of a port hold, so that no port waits for another for long.
constexpr unsigned kBurstsPerRound = kDescriptors / kBurst;

void record_frame(void* capture, const Packet& packet) {
    static_cast<Capture*>(capture)->record(packet);
}

}  // namespace

Worker::Worker(Switch& core, IoPorts& ports, MbufPool& pool, Mailbox& mailbox, PollMode mode, bool rx_hold)
    : core_(core), ports_(ports), pool_(pool), mailbox_(mailbox), rx_hold_(rx_hold), sleeper_(mode) {
    sleeper_.add(mailbox_.fd());
    for (const auto& port : ports_.ports) {
        if (port->device->wake_fd() >= 0) sleeper_.add(port->device->wake_fd());
    }
}

void Worker::run() {
    while (!stop_) {
        const Instant now = clock_.now();
        counters_.loop.begin(now);
        core_.begin_iteration(now);
        bool worked = mailbox_.drain();
        worked |= check_links(now);
        worked |= receive_all(now);  // of every port, before the first transmit: pauses are heard in time
        core_.on_timeout(now);
        worked |= core_.transmit(now) != 0;
        counters_.busy_iterations += worked ? 1 : 0;
        if (sleeper_.should_sleep(now, worked)) sleep(now);
    }
}

void Worker::set_capture(Capture* capture, PortSet ports) {
    capture_ = capture;
    captured_ = capture == nullptr ? 0 : ports;
    for (const auto& port : ports_.ports) {
        const bool wanted = contains(captured_, port->id);
        core_.tx(port->id)->set_tap(wanted ? record_frame : nullptr, capture);
    }
}

bool Worker::check_links(Instant now) {
    if (now < next_link_check_) return false;
    next_link_check_ = now + kLinkCheck;
    bool changed = false;
    for (const auto& port : ports_.ports) {
        changed |= port->device->update_link(now);
        core_.set_link(now, port->id, port->device->link_up());
    }
    counters_.link_changes += changed ? 1 : 0;
    return changed;
}

bool Worker::receive_all(Instant now) {
    if (hold_back(now)) return false;
    bool worked = false;
    for (const auto& port : ports_.ports) {
        if (!must_wait(now, *port)) worked |= receive_port(now, *port);
    }
    return worked;
}

/// True while the port's lossless headroom could not take another burst: the frames had better stay in its ring, where
/// they hold their sender back (design D11e).
bool Worker::must_wait(Instant now, IoPort& port) {
    const bool wait = rx_hold_ && !core_.may_receive(port.id);
    if (port.held_since != kNever) port.rx_hold_ns += static_cast<std::uint64_t>((now - port.held_since).ps / 1'000);
    port.held_since = wait ? now : kNever;
    return wait;
}

bool Worker::receive_port(Instant now, IoPort& port) {
    std::array<Packet*, kBurst> packets;
    bool worked = false;
    for (unsigned burst = 0; burst < kBurstsPerRound; ++burst) {
        const std::size_t count = port.device->receive(packets);
        const std::span<Packet* const> received{packets.data(), count};
        worked |= count != 0;
        if (contains(captured_, port.id)) {
            for (const Packet* packet : received) capture_->record(*packet);
        }
        if (port.rx_fault.active()) [[unlikely]] {
            receive_through_fault(now, port, received);
        } else {
            core_.receive(now, port.id, received);
        }
        if (count < kBurst) break;
    }
    return worked;
}

void Worker::receive_through_fault(Instant now, IoPort& port, std::span<Packet* const> packets) {
    for (Packet* packet : packets) port.rx_fault.push(now, packet);
    while (Packet* packet = port.rx_fault.pop(now)) core_.receive(now, port.id, packet);
}

/// True while packets are so few that frames had better stay in the rings, where they hold their senders back.
bool Worker::hold_back(Instant now) {
    if (!rx_hold_ || !pool_.nearly_empty()) [[likely]] {
        if (held_since_ == kNever) return false;
        for (const auto& port : ports_.ports) {
            port->rx_hold_ns += static_cast<std::uint64_t>((now - held_since_).ps / 1'000);
        }
        held_since_ = kNever;
        return false;
    }
    held_since_ = std::min(held_since_, now);
    return true;
}

/// Says that it sleeps, looks once more, sleeps: a frame that comes in between rings the doorbell.
void Worker::sleep(Instant now) {
    for (const auto& port : ports_.ports) port->device->set_sleeping(true);
    if (!receive_all(now)) {
        sleeper_.sleep(now, next_deadline(now));
        core_.forgive_gap();
        counters_.loop.sleep();
    }
    for (const auto& port : ports_.ports) port->device->set_sleeping(false);
}

Instant Worker::next_deadline(Instant now) const {
    Instant deadline = core_.next_deadline();
    for (const auto& port : ports_.ports) {
        deadline = std::min({deadline, port->device->next_poll(now), port->rx_fault.next_deadline()});
    }
    return deadline;
}

}  // namespace vroce::sw
