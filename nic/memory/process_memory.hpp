// The two system-call ways into a process's memory.
#pragma once

#include <sys/types.h>

#include "nic/memory/address_space.hpp"
#include "nic/memory/peer_rights.hpp"

namespace vroce::nic {

/// Through the descriptor of /proc/self/mem that the application handed over: bound to that address space, so that
/// after exec or death every access fails. Owns the descriptor.
class HandedMemory final : public AddressSpace {
public:
    explicit HandedMemory(int mem_fd) : fd_(mem_fd) {}
    ~HandedMemory() override;
    HandedMemory(const HandedMemory&) = delete;
    HandedMemory& operator=(const HandedMemory&) = delete;

    CopyResult read(std::span<const RemotePiece> from, RoomSlices to, CopyTag tag) override;
    CopyResult write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, CopyTag tag) override;
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
};

/// By pid, in one system call for many ranges; faster, but exec and setuid keep the pid: only between equals, and the
/// kernel is the judge of that at every call (see peer_rights.hpp).
class PeerMemory final : public AddressSpace {
public:
    explicit PeerMemory(pid_t pid) : pid_(pid) {}
    CopyResult read(std::span<const RemotePiece> from, RoomSlices to, CopyTag tag) override;
    CopyResult write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, CopyTag tag) override;

private:
    pid_t pid_;
};

}  // namespace vroce::nic
