// Frames of one queue pair that wait because the payload of an earlier one is still being landed. Order is kept; the
// room is bounded, and what does not fit is dropped as if the network had lost it (counted).
#pragma once

#include <cstddef>

#include "nic/transport/packet_queue.hpp"

namespace vroce::nic {

class Inbox {
public:
    static constexpr std::size_t kMostWaiting = 256;

    /// A copy from `packet` is going on: it must not be released, and no other frame may be looked at.
    void park(Packet* packet) { parked_ = packet; }
    [[nodiscard]] bool holds() const { return parked_ != nullptr; }
    /// False when it is full.
    [[nodiscard]] bool wait(Packet* packet) {
        if (waiting_.size() >= kMostWaiting) return false;
        waiting_.push(packet);
        return true;
    }
    /// The queue pair has no use for any of it; the parked frame stays until its copy ends. True when there is one.
    bool abandon() {
        waiting_.release_all();
        abandoned_ = holds();
        return abandoned_;
    }
    /// At the end of everything, when no copy goes on any more.
    void release_all() {
        waiting_.release_all();
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
    [[nodiscard]] Packet* next() { return holds() || waiting_.empty() ? nullptr : waiting_.pop(); }

private:
    Packet* parked_ = nullptr;
    bool abandoned_ = false;
    PacketQueue waiting_;
};

}  // namespace vroce::nic
