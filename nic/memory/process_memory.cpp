#include "nic/memory/process_memory.hpp"

#include <unistd.h>

#include <array>

namespace vroce::nic {

namespace {

bool fits(std::size_t pieces, std::size_t slices) {
    return pieces <= AddressSpace::kPiecesMax && slices <= AddressSpace::kPiecesMax;
}

using IoVecs = std::array<iovec, AddressSpace::kPiecesMax>;

std::size_t to_iovecs(std::span<const std::span<std::uint8_t>> slices, IoVecs& out) {
    std::size_t count = 0;
    for (const auto& slice : slices)
        if (!slice.empty()) out[count++] = {slice.data(), slice.size()};
    return count;
}

std::size_t to_iovecs(std::span<const RemotePiece> pieces, IoVecs& out) {
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

/// What of `slices` stands between `from` and `from + length`, for a pread of one piece into several slices.
std::size_t cut(const IoVecs& vecs, std::size_t count, std::uint64_t from, std::uint64_t length, IoVecs& out) {
    std::size_t found = 0;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < count && begin < from + length; ++i) {
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

/// Calls `put(pieces, bytes)` for all but the tail, then for the tail.
template <typename Put>
CopyResult write_in_order(std::span<const RemotePiece> to, std::span<const std::uint8_t> from, std::size_t tail_bytes,
                          Put&& put) {
    if (!fits(to.size(), 1) || tail_bytes > from.size()) return CopyResult::Fault;
    const std::size_t body = from.size() - tail_bytes;
    std::array<RemotePiece, AddressSpace::kPiecesMax> pieces;
    std::size_t count = cut(to, 0, body, pieces.data());
    if (count != 0 && !put(std::span<const RemotePiece>(pieces.data(), count), from.data())) return CopyResult::Fault;
    count = cut(to, body, from.size(), pieces.data());
    if (count != 0 && !put(std::span<const RemotePiece>(pieces.data(), count), from.data() + body))
        return CopyResult::Fault;
    return CopyResult::Done;
}

/// An address is a file offset of /proc/self/mem, which is signed.
bool in_file_range(const RemotePiece& piece) {
    constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
    return piece.addr < kTop && piece.length < kTop - piece.addr;
}

}  // namespace

HandedMemory::~HandedMemory() {
    close(fd_);
}

CopyResult HandedMemory::read(std::span<const RemotePiece> from, std::span<const std::span<std::uint8_t>> to, CopyTag) {
    if (!fits(from.size(), to.size())) return CopyResult::Fault;
    IoVecs local;
    IoVecs part;
    const std::size_t count = to_iovecs(to, local);
    std::uint64_t done = 0;
    for (const RemotePiece& piece : from) {
        if (piece.length == 0) continue;
        if (!in_file_range(piece)) return CopyResult::Fault;
        const std::size_t parts = cut(local, count, done, piece.length, part);
        const ssize_t got = preadv(fd_, part.data(), static_cast<int>(parts), static_cast<off_t>(piece.addr));
        if (got != static_cast<ssize_t>(piece.length)) return CopyResult::Fault;
        done += piece.length;
    }
    return CopyResult::Done;
}

CopyResult HandedMemory::write(std::span<const RemotePiece> to, std::span<const std::uint8_t> from,
                               std::size_t tail_bytes, CopyTag) {
    return write_in_order(to, from, tail_bytes, [this](std::span<const RemotePiece> pieces, const std::uint8_t* bytes) {
        for (const RemotePiece& piece : pieces) {
            if (!in_file_range(piece)) return false;
            const ssize_t put = pwrite(fd_, bytes, piece.length, static_cast<off_t>(piece.addr));
            if (put != static_cast<ssize_t>(piece.length)) return false;
            bytes += piece.length;
        }
        return true;
    });
}

CopyResult PeerMemory::read(std::span<const RemotePiece> from, std::span<const std::span<std::uint8_t>> to, CopyTag) {
    if (!fits(from.size(), to.size()) || !forgo_access_by_privilege()) return CopyResult::Fault;
    IoVecs local;
    IoVecs remote;
    const std::size_t locals = to_iovecs(to, local);
    const std::size_t remotes = to_iovecs(from, remote);
    if (total(local, locals) != total(remote, remotes)) return CopyResult::Fault;
    if (locals == 0) return CopyResult::Done;
    const ssize_t got = process_vm_readv(pid_, local.data(), locals, remote.data(), remotes, 0);
    return got == static_cast<ssize_t>(total(local, locals)) ? CopyResult::Done : CopyResult::Fault;
}

CopyResult PeerMemory::write(std::span<const RemotePiece> to, std::span<const std::uint8_t> from,
                             std::size_t tail_bytes, CopyTag) {
    if (!forgo_access_by_privilege()) return CopyResult::Fault;
    return write_in_order(to, from, tail_bytes, [this](std::span<const RemotePiece> pieces, const std::uint8_t* bytes) {
        IoVecs remote;
        const std::size_t remotes = to_iovecs(pieces, remote);
        const iovec local{const_cast<std::uint8_t*>(bytes), total(remote, remotes)};
        return process_vm_writev(pid_, &local, 1, remote.data(), remotes, 0) == static_cast<ssize_t>(local.iov_len);
    });
}

}  // namespace vroce::nic
