// A bounded queue between exactly two threads. Neither ever waits for the other: full and empty are answers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace vroce {

/// One producer thread, one consumer thread. What the producer wrote before publish() the consumer sees after front().
template <typename T, std::size_t kSlots>
class SpscRing {
    static_assert(kSlots != 0 && (kSlots & (kSlots - 1)) == 0, "an index is taken modulo the slots by a mask");

public:
    SpscRing() {}  // leaves large slots untouched, so that their pages cost nothing before they are used
    SpscRing(const SpscRing&) = delete;
    SpscRing& operator=(const SpscRing&) = delete;
    static constexpr std::size_t capacity() { return kSlots; }

    // ---- producer
    /// The slot to fill before publish(), or nullptr when the ring is full.
    [[nodiscard]] T* claim() {
        const std::size_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - known_head_ == kSlots) {
            known_head_ = head_.load(std::memory_order_acquire);
            if (tail - known_head_ == kSlots) return nullptr;
        }
        return &slots_[tail & (kSlots - 1)];
    }
    void publish() { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
    /// False when it is full.
    [[nodiscard]] bool push(const T& value) {
        T* slot = claim();
        if (slot == nullptr) return false;
        *slot = value;
        publish();
        return true;
    }

    // ---- consumer
    /// The oldest value, to be given back by discard(), or nullptr when the ring is empty.
    [[nodiscard]] T* front() {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head == known_tail_) {
            known_tail_ = tail_.load(std::memory_order_acquire);
            if (head == known_tail_) return nullptr;
        }
        return &slots_[head & (kSlots - 1)];
    }
    void discard() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
    /// False when it is empty.
    [[nodiscard]] bool pop(T& value) {
        T* slot = front();
        if (slot == nullptr) return false;
        value = *slot;
        discard();
        return true;
    }

private:
    alignas(64) std::atomic<std::size_t> head_{0};  // consumer: rw, producer: ro
    std::size_t known_tail_ = 0;                    // consumer
    alignas(64) std::atomic<std::size_t> tail_{0};  // producer: rw, consumer: ro
    std::size_t known_head_ = 0;                    // producer
    alignas(64) std::array<T, kSlots> slots_;
};

}  // namespace vroce
