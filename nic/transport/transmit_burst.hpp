// Where a queue pair's turn puts its frames, and how the turn ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/packet/packet.hpp"

namespace vroce::nic {

class TransmitBurst {
public:
    explicit TransmitBurst(std::span<Packet*> out) : out_(out) {}

    [[nodiscard]] std::size_t room() const { return out_.size() - used_; }
    [[nodiscard]] std::size_t used() const { return used_; }
    /// Precondition: room() > 0.
    void push(Packet* packet) { out_[used_++] = packet; }

private:
    std::span<Packet*> out_;
    std::size_t used_ = 0;
};

enum class Turn : std::uint8_t {
    Idle,         ///< nothing to send until something happens
    More,         ///< the quantum or the burst is used up
    PortBlocked,  ///< the port window must open first
    NoPacket,     ///< the packet pool is empty
};

}  // namespace vroce::nic
