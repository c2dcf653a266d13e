#include "nic/host/memory_access.hpp"

#include <unistd.h>

#include "nic/memory/process_memory.hpp"

namespace vroce::nic {
namespace {

/// The context's end of a way that outlives the context.
class Forward final : public AddressSpace {
public:
    explicit Forward(AddressSpace& to) : to_(to) {}
    CopyResult read(std::span<const RemotePiece> from, RoomSlices to, CopyTag tag) override {
        return to_.read(from, to, tag);
    }
    CopyResult write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, CopyTag tag) override {
        return to_.write(to, from, tail_bytes, tag);
    }
    void cancel(std::uint32_t qpn) override { to_.cancel(qpn); }

private:
    AddressSpace& to_;
};

}  // namespace

MemoryAccess::MemoryAccess(const Peer& peer, UniqueFd mem_fd, int copier_wake_fd) {
    if (peer.pid > 0 && may_use_pid(peer.pid)) {
        name_ = "process_vm";
        direct_ = std::make_unique<PeerMemory>(peer.pid);
    } else if (peer.uid == geteuid()) {
        name_ = "handed";
        direct_ = std::make_unique<HandedMemory>(mem_fd.release());
    } else {
        // Another user's pages may block whoever touches them: a thread of its own.
        name_ = "copier";
        copier_ = std::make_unique<Copier>(std::make_unique<HandedMemory>(mem_fd.release()), copier_wake_fd);
    }
}

MemoryAccess::~MemoryAccess() = default;

std::unique_ptr<AddressSpace> MemoryAccess::open() {
    return std::make_unique<Forward>(copier_ != nullptr ? static_cast<AddressSpace&>(*copier_) : *direct_);
}

bool MemoryAccess::idle() {
    if (copier_ == nullptr) return true;
    copier_->collect([](CopyTag, bool) {});
    return copier_->idle();
}

void MemoryAccess::abandon() {
    if (!idle()) static_cast<void>(copier_.release());
}

}  // namespace vroce::nic
