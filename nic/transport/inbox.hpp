// Frames of one queue pair that wait because the payload of an earlier one is still being landed. Order is kept; the
// room is bounded, and what does not fit is dropped as if the network had lost it (counted).
#pragma once

#include <cstddef>

#include "nic/transport/packet_queue.hpp"

namespace vroce::nic {

/// Packets that wait in all inboxes of an engine: a few stuck applications must not hold the whole pool.
struct WaitingRoom {
    std::size_t used = 0;
    std::size_t most = 0;
};

class Inbox {
public:
    static constexpr std::size_t kMostWaiting = 256;

    explicit Inbox(WaitingRoom& room) : room_(room) {}

    /// A copy from `packet` is going on: it must not be released, and no other frame may be looked at.
    void park(Packet* packet) { parked_ = packet; }
    [[nodiscard]] bool holds() const { return parked_ != nullptr; }
    /// False when it is full.
    [[nodiscard]] bool wait(Packet* packet) {
        if (waiting_.size() >= kMostWaiting || room_.used >= room_.most) return false;
        ++room_.used;
        waiting_.push(packet);
        return true;
    }
    /// The queue pair has no use for any of it; the parked frame stays until its copy ends. True when there is one.
    bool abandon() {
        release_waiting();
        abandoned_ = holds();
        return abandoned_;
    }
    /// At the end of everything, when no copy goes on any more.
    void release_all() {
        release_waiting();
        if (parked_ != nullptr) release(parked_);
        parked_ = nullptr;
    }
    struct Ended {
        Packet* packet;  ///< the caller's now; nullptr when nothing was parked
        bool abandoned;
    };
    Ended copy_ended() {
        const Ended ended{parked_, abandoned_};
        parked_ = nullptr;
        abandoned_ = false;
        return ended;
    }
    /// Next frame to look at, or nullptr; none while a copy goes on.
    [[nodiscard]] Packet* next() {
        if (holds() || waiting_.empty()) return nullptr;
        --room_.used;
        return waiting_.pop();
    }

private:
    void release_waiting() {
        room_.used -= waiting_.size();
        waiting_.release_all();
    }

    WaitingRoom& room_;
    Packet* parked_ = nullptr;
    bool abandoned_ = false;
    PacketQueue waiting_;
};

}  // namespace vroce::nic
