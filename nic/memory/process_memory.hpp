// The two system-call ways into a process's memory.
#pragma once

#include <sys/types.h>

#include "nic/memory/address_space.hpp"

namespace vroce::nic {

/// Through the descriptor of /proc/self/mem that the application handed over: bound to that address space, so that
/// after exec or death every access fails. Owns the descriptor.
class HandedMemory final : public AddressSpace {
public:
    explicit HandedMemory(int mem_fd) : fd_(mem_fd) {}
    ~HandedMemory() override;
    HandedMemory(const HandedMemory&) = delete;
    HandedMemory& operator=(const HandedMemory&) = delete;

    CopyResult read(std::span<const RemotePiece> from, std::span<const std::span<std::uint8_t>> to,
                    CopyTag tag) override;
    CopyResult write(std::span<const RemotePiece> to, std::span<const std::uint8_t> from, std::size_t tail_bytes,
                     CopyTag tag) override;
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
};

/// By pid, in one system call for many ranges; faster, but exec keeps the pid: only between equals (see may_use_pid).
class PeerMemory final : public AddressSpace {
public:
    explicit PeerMemory(pid_t pid) : pid_(pid) {}
    CopyResult read(std::span<const RemotePiece> from, std::span<const std::span<std::uint8_t>> to,
                    CopyTag tag) override;
    CopyResult write(std::span<const RemotePiece> to, std::span<const std::uint8_t> from, std::size_t tail_bytes,
                     CopyTag tag) override;

private:
    pid_t pid_;
};

/// Whether this process has no more rights over `pid` than that process has itself: same real, effective and saved user
/// and group, and no capability that it lacks. What it then could do by pid after an exec, the user can do anyway.
[[nodiscard]] bool may_use_pid(pid_t pid);

}  // namespace vroce::nic
