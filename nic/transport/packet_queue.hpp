// A first-in, first-out queue of packets through their own `next` pointers.
#pragma once

#include <cstddef>

#include "common/packet/packet.hpp"

namespace vroce::nic {

class PacketQueue {
public:
    void push(Packet* packet) {
        packet->next = nullptr;
        (head_ == nullptr ? head_ : tail_->next) = packet;
        tail_ = packet;
        ++size_;
    }
    /// Precondition: not empty.
    Packet* pop() {
        Packet* packet = head_;
        head_ = packet->next;
        packet->next = nullptr;
        --size_;
        return packet;
    }
    void release_all() {
        while (!empty()) release(pop());
    }
    [[nodiscard]] Packet* front() const { return head_; }
    [[nodiscard]] bool empty() const { return head_ == nullptr; }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    Packet* head_ = nullptr;
    Packet* tail_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace vroce::nic
