// A lock of one word for the few instructions of a post or a poll. It never enters the kernel to wait, but lets others
// run when the holder may have been descheduled: on few cores that is the normal reason for waiting.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace vroce::provider {

class SpinLock {
public:
    void lock() {
        for (unsigned tries = 1; word_.exchange(1, std::memory_order_acquire) != 0; ++tries) {
            while (word_.load(std::memory_order_relaxed) != 0) {
                if (++tries % kTriesBeforeYield == 0) sched_yield();
            }
        }
    }
    void unlock() { word_.store(0, std::memory_order_release); }

private:
    static constexpr unsigned kTriesBeforeYield = 64;
    std::atomic<std::uint32_t> word_{0};
};

}  // namespace vroce::provider
