// Frames that a queue pair keeps: those whose payload is being landed, and those that wait behind them. Order is kept;
// the room is bounded, and what does not fit is dropped as if the network had lost it (counted).
#pragma once

#include <cstddef>
#include <cstdint>

#include "nic/transport/packet_queue.hpp"

namespace vroce::nic {

/// Packets that are kept in all inboxes of an engine, but for the first of each: a few stuck applications must not hold
/// the whole pool.
struct WaitingRoom {
    std::size_t used = 0;
    std::size_t most = 0;
};

class Inbox {
public:
    static constexpr std::size_t kMostWaiting = 256;

    explicit Inbox(WaitingRoom& room) : room_(room) {}

    /// Keeps a frame whose payload is to be landed.
    void park(Packet* packet) {
        if (!parked_.empty()) ++room_.used;
        parked_.push(packet);
    }
    /// The first frame always has a place.
    [[nodiscard]] bool may_park_another() const { return room_.used < room_.most; }
    /// The copy of what is parked goes on elsewhere: no other frame may be looked at.
    void copy_begins() { copying_ = true; }
    [[nodiscard]] bool copying() const { return copying_; }
    /// False when it is full.
    [[nodiscard]] bool wait(Packet* packet) {
        if (waiting_.size() >= kMostWaiting || room_.used >= room_.most) return false;
        ++room_.used;
        waiting_.push(packet);
        return true;
    }
    /// The queue pair has no use for any of it; parked frames stay until their copy ends. True when there is one.
    bool abandon() {
        release_waiting();
        if (!copying_) release_parked();
        abandoned_ = copying_;
        return abandoned_;
    }
    /// At the end of everything, when no copy goes on any more.
    void release_all() {
        release_waiting();
        release_parked();
    }
    /// Their payload has landed, or never will.
    void release_parked() {
        if (!parked_.empty()) room_.used -= parked_.size() - 1;
        parked_.release_all();
    }
    enum class Ended : std::uint8_t { Nothing, Wanted, Abandoned };
    Ended copy_ended() {
        if (!copying_) return Ended::Nothing;
        const Ended ended = abandoned_ ? Ended::Abandoned : Ended::Wanted;
        copying_ = abandoned_ = false;
        return ended;
    }
    /// Next frame to look at, or nullptr; none while a copy goes on.
    [[nodiscard]] Packet* next() {
        if (copying_ || waiting_.empty()) return nullptr;
        --room_.used;
        return waiting_.pop();
    }

private:
    void release_waiting() {
        room_.used -= waiting_.size();
        waiting_.release_all();
    }

    WaitingRoom& room_;
    PacketQueue parked_;
    bool copying_ = false;
    bool abandoned_ = false;
    PacketQueue waiting_;
};

}  // namespace vroce::nic
