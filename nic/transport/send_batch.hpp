// Frames of one queue pair whose payload was asked for in one copy: they wait here until it has ended, and leave in
// order. Requests and READ responses share it, since at most one copy per direction goes on at a time.
#pragma once

#include <cstdint>

#include "nic/transport/packet_queue.hpp"
#include "nic/transport/qp_env.hpp"

namespace vroce::nic {

class SendBatch {
public:
    enum class Owner : std::uint8_t { Requester, Responder };

    [[nodiscard]] bool idle() const { return state_ == State::Idle; }
    /// True when `owner` has frames here that can leave.
    [[nodiscard]] bool ready_for(Owner owner) const { return state_ == State::Ready && owner_ == owner; }
    /// True when `owner` can neither emit nor begin.
    [[nodiscard]] bool blocks(Owner owner) const { return !idle() && !ready_for(owner); }
    [[nodiscard]] bool copying() const { return state_ == State::Copying || state_ == State::Abandoned; }
    [[nodiscard]] Owner owner() const { return owner_; }

    /// Takes the frames of a copy that began. False when it failed: the frames are released.
    bool begin(Owner owner, PacketQueue& frames, CopyResult result) {
        owner_ = owner;
        frames_ = frames;
        state_ = result == CopyResult::Pending ? State::Copying : State::Ready;
        if (result == CopyResult::Fault) discard();
        return result != CopyResult::Fault;
    }
    enum class Ended : std::uint8_t { Ready, Failed, Abandoned };
    /// The copy that was pending has ended.
    Ended end(bool ok) {
        const bool abandoned = state_ == State::Abandoned;
        state_ = State::Ready;
        if (abandoned || !ok) discard();
        return abandoned ? Ended::Abandoned : ok ? Ended::Ready : Ended::Failed;
    }
    [[nodiscard]] Packet* front() const { return frames_.front(); }
    Packet* pop() {
        Packet* packet = frames_.pop();
        if (frames_.empty()) state_ = State::Idle;
        return packet;
    }
    /// At the end of everything, when no copy goes on any more.
    void release_all() { discard(); }
    /// The frames have become stale. While a copy writes into them they are kept, and go when it ends. True when frames
    /// of this owner were given up.
    bool abandon(Owner owner) {
        if (idle() || state_ == State::Abandoned || owner_ != owner) return false;
        if (state_ == State::Copying)
            state_ = State::Abandoned;
        else
            discard();
        return true;
    }

private:
    enum class State : std::uint8_t { Idle, Copying, Ready, Abandoned };

    void discard() {
        frames_.release_all();
        state_ = State::Idle;
    }

    PacketQueue frames_;
    State state_ = State::Idle;
    Owner owner_ = Owner::Requester;
};

}  // namespace vroce::nic
