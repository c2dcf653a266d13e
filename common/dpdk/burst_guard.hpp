// Memif's driver unmaps the rings of a peer that died from DPDK's interrupt thread, while the worker may be copying
// from them (design D2). The guard turns the fault that this is into "the peer is lost".
#pragma once

#include <csetjmp>

namespace vroce {

namespace detail {
/// Of this thread: where a fault inside a guarded burst returns to; nullptr outside.
extern thread_local sigjmp_buf* burst_return;
void install_burst_guard();
}  // namespace detail

/// Runs `burst`; false when it faulted. Costs a few nanoseconds. `burst` must hold no lock and own nothing.
template <typename F>
[[nodiscard]] bool guard_burst(F&& burst) {
    static const bool installed = (detail::install_burst_guard(), true);
    static_cast<void>(installed);
    sigjmp_buf here;
    if (sigsetjmp(here, 0) != 0) return false;
    detail::burst_return = &here;
    burst();
    detail::burst_return = nullptr;
    return true;
}

}  // namespace vroce
