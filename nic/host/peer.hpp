// Who is at the other end of a session socket, and what the descriptors are that came from there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "nic/host/record_socket.hpp"

namespace vroce::nic {

struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    UniqueFd death;  ///< a pidfd, readable when the process has ended; empty where the kernel cannot name it to us
};

/// The process that connected. nullopt: it is dead already.
[[nodiscard]] std::optional<Peer> identify_peer(int socket);

/// Whether the descriptor is some process's /proc/<pid>/mem, open for reading and writing. A descriptor of anything
/// else (a FUSE file, a pipe) could answer with what it likes, or never.
[[nodiscard]] bool is_process_memory(int fd);

/// Whether the descriptor is a file that lives in memory (memfd, /dev/shm, hugetlbfs), opened with the access that is
/// needed and at least `bytes` long.
[[nodiscard]] bool is_memory_file(int fd, std::uint64_t bytes, bool writable);

}  // namespace vroce::nic
