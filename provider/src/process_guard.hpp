// Tells a forked child from the process that opened a context, without a system call: a page that the kernel wipes in
// the child (MADV_WIPEONFORK). The child shares the parent's rings and socket and must not touch them.
#pragma once

#include <atomic>
#include <cstdint>

namespace vroce::provider {

/// The number of this process among its ancestors that opened contexts; 0 in a child that has opened none.
class ProcessGuard {
public:
    /// Gives this process a number if it has none; 0 when there is no memory for it.
    static std::uint32_t enter();
    static bool is_in(std::uint32_t epoch) {
        return page_ != nullptr && page_->load(std::memory_order_relaxed) == epoch;
    }

private:
    static std::atomic<std::uint32_t>* page_;
    static std::uint32_t epochs_;
};

}  // namespace vroce::provider
