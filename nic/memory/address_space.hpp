// An application's memory as the NIC reaches it (design D4). Every access names addresses of that application; what is
// not there, not mapped or not permitted is a Fault, never a crash or a stall of the NIC.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>

#include "nic/transport/qp_env.hpp"

namespace vroce::nic {

/// A range in the application.
struct RemotePiece {
    std::uint64_t addr = 0;
    std::uint64_t length = 0;
    std::uint32_t key = 0;  ///< of the region that it was checked against: a copy not yet begun ends with its region
};

/// Whom a Pending copy belongs to.
struct CopyTag {
    std::uint32_t qpn = 0;
    CopyDirection direction = CopyDirection::Send;
};

class AddressSpace {
public:
    /// Pieces and slices of one call.
    static constexpr std::size_t kPiecesMax = 64;

    virtual ~AddressSpace() = default;
    /// Copies the pieces, in order, into the slices, in order; both add up to the same number of bytes.
    [[nodiscard]] virtual CopyResult read(std::span<const RemotePiece> from, RoomSlices to, CopyTag tag) = 0;
    /// Copies the slices, in order, into the pieces, in order; both add up to the same number of bytes. The last
    /// `tail_bytes` of them become visible after all others: programs poll on the last byte of a message (design D4).
    [[nodiscard]] virtual CopyResult write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes,
                                           CopyTag tag) = 0;
    /// The QP goes: a copy that is Pending for it must not touch its slices any more.
    virtual void cancel(std::uint32_t qpn) { static_cast<void>(qpn); }
};

}  // namespace vroce::nic
