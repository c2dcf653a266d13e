#include "nic/memory/process_memory.hpp"

#include <unistd.h>

#include <array>

namespace vroce::nic {

namespace {

bool fits(std::size_t pieces, std::size_t slices) {
    return pieces <= AddressSpace::kPiecesMax && slices <= AddressSpace::kPiecesMax;
}

using IoVecs = std::array<iovec, AddressSpace::kPiecesMax>;

std::size_t to_iovecs(RoomSlices slices, IoVecs& out) {
    std::size_t count = 0;
    for (const auto& slice : slices)
        if (!slice.empty()) out[count++] = {slice.data(), slice.size()};
    return count;
}

std::size_t to_iovecs(ByteSlices slices, IoVecs& out) {
    std::size_t count = 0;
    for (const auto& slice : slices)  // only read, which struct iovec can't say
        if (!slice.empty()) out[count++] = {const_cast<std::uint8_t*>(slice.data()), slice.size()};
    return count;
}

std::size_t to_iovecs(std::span<const RemotePiece> pieces, iovec* out) {
    std::size_t count = 0;
    for (const auto& piece : pieces)
        // An address of another process: a number here, a pointer only to the kernel.
        if (piece.length != 0) out[count++] = {reinterpret_cast<void*>(piece.addr), piece.length};  // NOLINT
    return count;
}

std::uint64_t total(const IoVecs& vecs, std::size_t count) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += vecs[i].iov_len;
    return sum;
}

std::uint64_t total(std::span<const RemotePiece> pieces) {
    std::uint64_t sum = 0;
    for (const RemotePiece& piece : pieces) sum += piece.length;
    return sum;
}

/// What of the slices stands between `from` and `from + length`.
std::size_t cut(std::span<const iovec> vecs, std::uint64_t from, std::uint64_t length, IoVecs& out) {
    std::size_t found = 0;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < vecs.size() && begin < from + length; ++i) {
        const std::uint64_t end = begin + vecs[i].iov_len;
        const std::uint64_t lo = begin > from ? begin : from;
        const std::uint64_t hi = end < from + length ? end : from + length;
        if (lo < hi) out[found++] = {static_cast<std::uint8_t*>(vecs[i].iov_base) + (lo - begin), hi - lo};
        begin = end;
    }
    return found;
}

/// Appends what of the pieces stands between `from` and `to`, counted in bytes from the first piece's start.
std::size_t cut(std::span<const RemotePiece> pieces, std::uint64_t from, std::uint64_t to, RemotePiece* out) {
    std::size_t found = 0;
    std::uint64_t begin = 0;
    for (const RemotePiece& piece : pieces) {
        const std::uint64_t end = begin + piece.length;
        const std::uint64_t lo = begin > from ? begin : from;
        const std::uint64_t hi = end < to ? end : to;
        if (lo < hi) out[found++] = {piece.addr + (lo - begin), hi - lo, piece.key};
        begin = end;
    }
    return found;
}

/// A write, cut so that its tail is a piece of its own behind all others.
struct Write {
    static constexpr std::size_t kPiecesMax = AddressSpace::kPiecesMax + 1;

    std::array<RemotePiece, kPiecesMax> pieces;
    std::size_t piece_count = 0;
    IoVecs vecs;
    std::size_t vec_count = 0;
    std::uint64_t bytes = 0;

    [[nodiscard]] std::span<const RemotePiece> remote_pieces() const { return {pieces.data(), piece_count}; }
    [[nodiscard]] std::span<const iovec> local_vecs() const { return {vecs.data(), vec_count}; }
};

bool prepare(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, Write& out) {
    if (!fits(to.size(), from.size())) return false;
    out.vec_count = to_iovecs(from, out.vecs);
    out.bytes = total(out.vecs, out.vec_count);
    if (tail_bytes > out.bytes || total(to) != out.bytes) return false;
    const std::uint64_t body = out.bytes - tail_bytes;
    out.piece_count = cut(to, 0, body, out.pieces.data());
    out.piece_count += cut(to, body, out.bytes, out.pieces.data() + out.piece_count);
    return true;
}

/// An address is a file offset of /proc/self/mem, which is signed.
bool in_file_range(const RemotePiece& piece) {
    constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
    return piece.addr < kTop && piece.length < kTop - piece.addr;
}

/// Calls `copy(vecs, count, file offset)` for each piece with what of the vecs belongs to it.
template <typename Copy>
bool for_each_piece(std::span<const RemotePiece> pieces, std::span<const iovec> vecs, Copy&& copy) {
    IoVecs part;
    std::uint64_t done = 0;
    for (const RemotePiece& piece : pieces) {
        if (piece.length == 0) continue;
        if (!in_file_range(piece)) return false;
        const std::size_t parts = cut(vecs, done, piece.length, part);
        const ssize_t copied = copy(part.data(), static_cast<int>(parts), static_cast<off_t>(piece.addr));
        if (copied != static_cast<ssize_t>(piece.length)) return false;
        done += piece.length;
    }
    return true;
}

}  // namespace

HandedMemory::~HandedMemory() {
    close(fd_);
}

CopyResult HandedMemory::read(std::span<const RemotePiece> from, RoomSlices to, CopyTag) {
    if (!fits(from.size(), to.size())) return CopyResult::Fault;
    IoVecs local;
    const std::size_t count = to_iovecs(to, local);
    const bool read = for_each_piece(from, {local.data(), count}, [this](const iovec* part, int parts, off_t at) {
        return preadv(fd_, part, parts, at);
    });
    return read ? CopyResult::Done : CopyResult::Fault;
}

CopyResult HandedMemory::write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, CopyTag) {
    Write write;
    if (!prepare(to, from, tail_bytes, write)) return CopyResult::Fault;
    const bool written =
        for_each_piece(write.remote_pieces(), write.local_vecs(),
                       [this](const iovec* part, int parts, off_t at) { return pwritev(fd_, part, parts, at); });
    return written ? CopyResult::Done : CopyResult::Fault;
}

CopyResult PeerMemory::read(std::span<const RemotePiece> from, RoomSlices to, CopyTag) {
    if (!fits(from.size(), to.size()) || !forgo_access_by_privilege()) return CopyResult::Fault;
    IoVecs local;
    IoVecs remote;
    const std::size_t locals = to_iovecs(to, local);
    const std::size_t remotes = to_iovecs(from, remote.data());
    if (total(local, locals) != total(remote, remotes)) return CopyResult::Fault;
    if (locals == 0) return CopyResult::Done;
    const ssize_t got = process_vm_readv(pid_, local.data(), locals, remote.data(), remotes, 0);
    return got == static_cast<ssize_t>(total(local, locals)) ? CopyResult::Done : CopyResult::Fault;
}

/// In one call: the kernel copies one remote range after the other, and a processor of the x86 family makes the stores
/// of one copy visible before those of the next (Intel SDM vol. 3, 9.2.4). Others need a barrier, which ours is not.
CopyResult PeerMemory::write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, CopyTag) {
    Write write;
    if (!prepare(to, from, tail_bytes, write) || !forgo_access_by_privilege()) return CopyResult::Fault;
    if (write.bytes == 0) return CopyResult::Done;
    std::array<iovec, Write::kPiecesMax> remote;
    const std::size_t remotes = to_iovecs(write.remote_pieces(), remote.data());
    const auto local = write.local_vecs();
    const ssize_t put = process_vm_writev(pid_, local.data(), local.size(), remote.data(), remotes, 0);
    return put == static_cast<ssize_t>(write.bytes) ? CopyResult::Done : CopyResult::Fault;
}

}  // namespace vroce::nic
