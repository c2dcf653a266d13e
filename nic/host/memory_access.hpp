// Which way a session's memory is reached (design D4), and when the way may be taken down.
#pragma once

#include <memory>

#include "nic/host/peer.hpp"
#include "nic/memory/copier.hpp"

namespace vroce::nic {

/// Made and destroyed on the control thread; what open() gives is the worker's until the context is closed.
class MemoryAccess {
public:
    /// Takes the descriptor of the application's /proc/self/mem.
    /// `copier_wake_fd`: written to when a copier's copy has ended.
    MemoryAccess(const Peer& peer, UniqueFd mem_fd, int copier_wake_fd);
    ~MemoryAccess();
    MemoryAccess(const MemoryAccess&) = delete;
    MemoryAccess& operator=(const MemoryAccess&) = delete;

    /// For the context; it may go while a copy is stuck, which this object then outlives.
    [[nodiscard]] std::unique_ptr<AddressSpace> open();
    [[nodiscard]] Copier* copier() { return copier_.get(); }

    /// After the context is closed: no copy runs any more. One can be stuck in a page of the application's for as long
    /// as it likes, and whoever destroys this object then waits for it.
    [[nodiscard]] bool idle();
    /// The process ends and cannot wait for a stuck copy: leaves it to the end.
    void abandon();

    [[nodiscard]] const char* name() const { return name_; }

private:
    const char* name_;
    std::unique_ptr<AddressSpace> direct_;
    std::unique_ptr<Copier> copier_;
};

}  // namespace vroce::nic
