// What a queue pair asks of its surroundings. The device layer implements it over rings, memory regions and completion
// queues; protocol tests implement it over vectors. One environment per queue pair, called from its worker only.
#pragma once

#include <cstdint>
#include <span>

#include "nic/transport/types.hpp"

namespace vroce::nic {

/// How a copy to or from application memory went.
enum class CopyResult : std::uint8_t {
    Done,
    Fault,    ///< key, bounds, access or address is not valid
    Pending,  ///< goes on elsewhere; Engine::on_copy_done(qpn, ok) says when it ended. At most one per direction and QP
};
/// By what happens to frames: Send fills frames that will leave (gather, read_remote), Receive lands those that came
/// (scatter_read, scatter_recv, write_remote).
enum class CopyDirection : std::uint8_t { Send, Receive };

/// Why remote access is refused; all of them are NAK 0x62 (IBTA 9.7.5.2.4), counted apart.
enum class RemoteAccess : std::uint8_t { Ok, BadKey, WrongPd, OutOfBounds, NoPermission };

/// Bytes that lie in several places, and room for them: one slice per packet.
using ByteSlices = std::span<const std::span<const std::uint8_t>>;
using RoomSlices = std::span<const std::span<std::uint8_t>>;

template <typename Slices>
[[nodiscard]] std::uint64_t total_bytes(const Slices& slices) {
    std::uint64_t sum = 0;
    for (const auto& slice : slices) sum += slice.size();
    return sum;
}

class QpEnv {
public:
    virtual ~QpEnv() = default;

    // ---- send queue
    /// Copies the send WQE at ring index `index` into `out` and validates it. False when nothing is posted there.
    /// An invalid WQE (unknown opcode, too many SGEs, length over 2^31) is given with `valid` false: the QP completes
    /// it with LocQpOpErr and goes to Err.
    virtual bool fetch_send(std::uint32_t index, SendWqe& out, bool& valid) = 0;
    /// Copies payload bytes [offset, offset + sum of slices) of a send WQE into the slices (one per packet).
    [[nodiscard]] virtual CopyResult gather(const SendWqe& wqe, std::uint64_t offset, RoomSlices slices) = 0;
    /// Lands READ response bytes (one slice per packet) at [offset, ...) of the WQE's scatter list. `last` says that
    /// these bytes end the message; the environment orders the last <= 64 bytes after the rest.
    [[nodiscard]] virtual CopyResult scatter_read(const SendWqe& wqe, std::uint64_t offset, ByteSlices slices,
                                                  bool last) = 0;

    // ---- receive queue
    virtual bool fetch_recv(std::uint32_t index, RecvWqe& out, bool& valid) = 0;
    [[nodiscard]] virtual CopyResult scatter_recv(const RecvWqe& wqe, std::uint64_t offset, ByteSlices slices,
                                                  bool last) = 0;

    // ---- remote access to this QP's protection domain
    /// Checks all of [va, va + length) for `access` (AccessFlags). Not called for length 0.
    [[nodiscard]] virtual RemoteAccess check_remote(std::uint32_t rkey, std::uint64_t va, std::uint64_t length,
                                                    std::uint32_t access) = 0;
    [[nodiscard]] virtual CopyResult write_remote(std::uint32_t rkey, std::uint64_t va, ByteSlices slices,
                                                  bool last) = 0;
    /// Reads consecutive bytes from va on into the slices (one per response packet).
    [[nodiscard]] virtual CopyResult read_remote(std::uint32_t rkey, std::uint64_t va, RoomSlices slices) = 0;

    // ---- results
    /// False when the completion queue is full: the QP goes to Err (the environment raises CQ_ERR itself).
    virtual bool complete(const Completion& completion) = 0;
    virtual void async_event(AsyncEventType type) = 0;
    /// The transport changed the state by itself (to Err or Sqe, or SQD drained).
    virtual void state_changed(QpState state) = 0;
};

}  // namespace vroce::nic
