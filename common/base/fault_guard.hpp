// Copies from memory that may vanish under them: an application's shared file that it truncates, the rings of a memif
// peer that died (its driver unmaps them from DPDK's interrupt thread while the worker may be copying; design D2, D4).
// The guard turns the SIGBUS or SIGSEGV that this is into a false.
#pragma once

#include <csetjmp>

namespace vroce {

namespace detail {
/// Of this thread: where a fault inside a guarded call returns to; nullptr outside.
extern thread_local sigjmp_buf* fault_return;
void install_fault_guard();
}  // namespace detail

/// Runs `copy`; false when it faulted. Costs a few nanoseconds. `copy` must hold no lock and own nothing.
template <typename F>
[[nodiscard]] bool guard_faults(F&& copy) {
    static const bool installed = (detail::install_fault_guard(), true);
    static_cast<void>(installed);
    sigjmp_buf here;
    if (sigsetjmp(here, 0) != 0) return false;
    detail::fault_return = &here;
    copy();
    detail::fault_return = nullptr;
    return true;
}

}  // namespace vroce
