// A bounded queue between exactly two threads. Neither ever waits for the other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace vroce::nic {

template <typename T, std::size_t kSlots>
class SpscRing {
    static_assert((kSlots & (kSlots - 1)) == 0, "an index is taken modulo the slots by a mask");

public:
    /// Producer. False when it is full. What was written before is visible to whoever pops the value.
    [[nodiscard]] bool push(T value) {
        const std::size_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) == kSlots) return false;
        slots_[tail & (kSlots - 1)] = value;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }
    /// Consumer. False when it is empty.
    [[nodiscard]] bool pop(T& value) {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire)) return false;
        value = slots_[head & (kSlots - 1)];
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

private:
    alignas(64) std::atomic<std::size_t> head_{0};  // consumer: rw, producer: ro
    alignas(64) std::atomic<std::size_t> tail_{0};  // producer: rw, consumer: ro
    alignas(64) std::array<T, kSlots> slots_{};
};

}  // namespace vroce::nic
