#include "nic/device/queue_pair.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "nic/device/limits.hpp"
#include "nic/device/shared.hpp"

namespace vroce::nic {

namespace {

constexpr std::uint32_t kLastOpcode = VROCE_WR_RDMA_READ;
/// A message's end is written after the rest: programs poll on its last byte (design D4).
constexpr std::size_t kTailBytes = 64;

using SgeList = std::array<vroce_sge, VROCE_MAX_SGE>;

std::uint8_t* slot_of(const WorkRing& ring, std::uint32_t index) {
    return ring.base + std::size_t{index & (ring.slots - 1)} * ring.stride;
}

/// Copies the scatter list of a slot once.
void copy_sges(const WorkRing& ring, std::uint32_t index, std::size_t header_bytes, std::uint32_t count, SgeList& out) {
    std::memcpy(out.data(), slot_of(ring, index) + header_bytes, std::size_t{count} * sizeof(vroce_sge));
}

std::uint64_t total_bytes(const SgeList& sges, std::uint32_t count) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) sum += sges[i].length;
    return sum;
}

/// Whether a WQE stands at `index`; `sane` is false when the producer claims more than the ring holds.
bool posted(std::uint32_t producer, std::uint32_t index, std::uint32_t slots, bool& sane) {
    const std::uint32_t ahead = producer - index;
    sane = ahead <= slots || ahead > UINT32_MAX / 2;
    return ahead != 0 && ahead <= UINT32_MAX / 2;
}

}  // namespace

struct QueuePair::Segment {
    std::uint64_t addr = 0;  ///< in the application
    std::uint64_t length = 0;
    MemoryRegion* region = nullptr;
};

struct QueuePair::Segments {
    std::array<Segment, AddressSpace::kPiecesMax> list{};
    std::size_t count = 0;
    bool any_mapped = false;

    void add(MemoryRegion& region, std::uint64_t va, std::uint64_t length) {
        list[count++] = {region.addr + (va - region.iova), length, &region};
        any_mapped = any_mapped || region.mapping != nullptr;
    }
};

bool QueuePair::fetch_send(std::uint32_t index, SendWqe& out, bool& valid) {
    bool sane = true;
    if (shape_.sq.slots == 0 || !posted(observe_index(shape_.control->sq_producer), index, shape_.sq.slots, sane))
        return false;
    vroce_send_wqe wqe;
    std::memcpy(&wqe, slot_of(shape_.sq, index), sizeof wqe);
    out = SendWqe{};
    out.wr_id = wqe.wr_id;
    out.remote_addr = wqe.remote_addr;
    out.rkey = wqe.rkey;
    out.imm = wqe.imm;
    out.index = index;
    out.flags = wqe.flags;
    const bool is_inline = (wqe.flags & VROCE_SEND_INLINE) != 0;
    valid = sane && wqe.opcode <= kLastOpcode && (is_inline || wqe.sge_count <= shape_.max_send_sge) &&
            (!is_inline || (wqe.inline_bytes <= shape_.max_inline && wqe.opcode != VROCE_WR_RDMA_READ));
    if (!valid) return true;
    out.opcode = static_cast<WrOpcode>(wqe.opcode);
    if (is_inline) {
        out.length = wqe.inline_bytes;
        return true;
    }
    SgeList sges;
    copy_sges(shape_.sq, index, sizeof wqe, wqe.sge_count, sges);
    out.sge_count = wqe.sge_count;
    out.length = total_bytes(sges, wqe.sge_count);
    valid = out.length <= Limits::kMessageBytes;
    return true;
}

bool QueuePair::fetch_recv(std::uint32_t index, RecvWqe& out, bool& valid) {
    bool sane = true;
    if (shape_.rq.slots == 0 || !posted(observe_index(shape_.control->rq_producer), index, shape_.rq.slots, sane))
        return false;
    vroce_recv_wqe wqe;
    std::memcpy(&wqe, slot_of(shape_.rq, index), sizeof wqe);
    out = RecvWqe{};
    out.wr_id = wqe.wr_id;
    out.index = index;
    valid = sane && wqe.sge_count <= shape_.max_recv_sge;
    if (!valid) return true;
    SgeList sges;
    copy_sges(shape_.rq, index, sizeof wqe, wqe.sge_count, sges);
    out.sge_count = wqe.sge_count;
    out.length = total_bytes(sges, wqe.sge_count);
    return true;
}

bool QueuePair::segments_of(const vroce_sge* sges, std::uint32_t count, std::uint64_t offset, std::uint64_t length,
                            std::uint32_t access, Segments& out) {
    for (std::uint32_t i = 0; i < count && length != 0; ++i) {
        if (offset >= sges[i].length) {
            offset -= sges[i].length;
            continue;
        }
        const std::uint64_t take = std::min<std::uint64_t>(sges[i].length - offset, length);
        const auto [verdict, region] = regions_->check(sges[i].lkey, shape_.pd, sges[i].addr + offset, take, access);
        if (verdict != RemoteAccess::Ok) return false;
        out.add(*region, sges[i].addr + offset, take);
        offset = 0;
        length -= take;
    }
    return length == 0;  // an application that shortened its list meanwhile has itself to blame
}

bool QueuePair::remote_segment(std::uint32_t rkey, std::uint64_t va, std::uint64_t length, std::uint32_t access,
                               Segments& out) {
    const auto [verdict, region] = regions_->check(rkey, shape_.pd, va, length, access);
    if (verdict != RemoteAccess::Ok) return false;
    out.add(*region, va, length);
    return true;
}

CopyResult QueuePair::read_segments(const Segments& segments, std::span<const std::span<std::uint8_t>> slices) {
    const CopyTag tag{qpn, CopyDirection::Send};
    if (segments.count == 0) return CopyResult::Done;
    if (!segments.any_mapped) {
        std::array<RemotePiece, AddressSpace::kPiecesMax> pieces;
        for (std::size_t i = 0; i < segments.count; ++i) pieces[i] = {segments.list[i].addr, segments.list[i].length};
        return memory_->read({pieces.data(), segments.count}, slices, tag);
    }
    // At least one segment is mapped: go through slices and segments side by side.
    std::size_t at = 0;
    std::uint64_t used = 0;
    for (std::span<std::uint8_t> slice : slices) {
        while (!slice.empty()) {
            const Segment& segment = segments.list[at];
            const std::size_t take = std::min<std::uint64_t>(slice.size(), segment.length - used);
            const std::span<std::uint8_t> part = slice.first(take);
            const RemotePiece piece{segment.addr + used, take};
            const CopyResult result =
                segment.region->mapping != nullptr
                    ? (segment.region->mapping->read(piece.addr - segment.region->addr, part) ? CopyResult::Done
                                                                                              : CopyResult::Fault)
                    : memory_->read({&piece, 1}, {&part, 1}, tag);
            if (result != CopyResult::Done) return result;
            slice = slice.subspan(take);
            used += take;
            if (used == segment.length) ++at, used = 0;
        }
    }
    return CopyResult::Done;
}

CopyResult QueuePair::write_segments(const Segments& segments, std::span<const std::uint8_t> bytes, bool last) {
    if (segments.count == 0) return CopyResult::Done;
    const std::size_t tail = last ? std::min(bytes.size(), kTailBytes) : 0;
    const CopyTag tag{qpn, CopyDirection::Receive};
    if (!segments.any_mapped) {
        std::array<RemotePiece, AddressSpace::kPiecesMax> pieces;
        for (std::size_t i = 0; i < segments.count; ++i) pieces[i] = {segments.list[i].addr, segments.list[i].length};
        return memory_->write({pieces.data(), segments.count}, bytes, tail, tag);
    }
    const std::size_t body = bytes.size() - tail;
    std::size_t done = 0;
    for (std::size_t i = 0; i < segments.count; ++i) {
        const Segment& segment = segments.list[i];
        for (std::uint64_t used = 0; used < segment.length;) {
            std::uint64_t take = segment.length - used;
            if (done < body) take = std::min<std::uint64_t>(take, body - done);
            const auto part = bytes.subspan(done, take);
            const RemotePiece piece{segment.addr + used, take};
            const CopyResult result =
                segment.region->mapping != nullptr
                    ? (segment.region->mapping->write(piece.addr - segment.region->addr, part) ? CopyResult::Done
                                                                                               : CopyResult::Fault)
                    : memory_->write({&piece, 1}, part, 0, tag);
            if (result != CopyResult::Done) return result;
            used += take;
            done += take;
        }
    }
    return CopyResult::Done;
}

CopyResult QueuePair::scatter(const vroce_sge* sges, std::uint32_t count, std::uint64_t offset,
                              std::span<const std::uint8_t> bytes, bool last) {
    Segments segments;
    if (!segments_of(sges, count, offset, bytes.size(), kAccessLocalWrite, segments)) return CopyResult::Fault;
    return write_segments(segments, bytes, last);
}

CopyResult QueuePair::gather(const SendWqe& wqe, std::uint64_t offset,
                             std::span<const std::span<std::uint8_t>> slices) {
    if ((wqe.flags & kSendInline) != 0) {
        const std::uint8_t* data = slot_of(shape_.sq, wqe.index) + sizeof(vroce_send_wqe) + offset;
        for (const auto& slice : slices) {
            std::memcpy(slice.data(), data, slice.size());
            data += slice.size();
        }
        return CopyResult::Done;
    }
    std::uint64_t length = 0;
    for (const auto& slice : slices) length += slice.size();
    SgeList sges;
    copy_sges(shape_.sq, wqe.index, sizeof(vroce_send_wqe), wqe.sge_count, sges);
    Segments segments;
    if (!segments_of(sges.data(), wqe.sge_count, offset, length, 0, segments)) return CopyResult::Fault;
    return read_segments(segments, slices);
}

CopyResult QueuePair::scatter_read(const SendWqe& wqe, std::uint64_t offset, std::span<const std::uint8_t> bytes,
                                   bool last) {
    SgeList sges;
    copy_sges(shape_.sq, wqe.index, sizeof(vroce_send_wqe), wqe.sge_count, sges);
    return scatter(sges.data(), wqe.sge_count, offset, bytes, last);
}

CopyResult QueuePair::scatter_recv(const RecvWqe& wqe, std::uint64_t offset, std::span<const std::uint8_t> bytes,
                                   bool last) {
    SgeList sges;
    copy_sges(shape_.rq, wqe.index, sizeof(vroce_recv_wqe), wqe.sge_count, sges);
    return scatter(sges.data(), wqe.sge_count, offset, bytes, last);
}

RemoteAccess QueuePair::check_remote(std::uint32_t rkey, std::uint64_t va, std::uint64_t length, std::uint32_t access) {
    return regions_->check(rkey, shape_.pd, va, length, access).verdict;
}

CopyResult QueuePair::write_remote(std::uint32_t rkey, std::uint64_t va, std::span<const std::uint8_t> bytes,
                                   bool last) {
    if (bytes.empty()) return CopyResult::Done;
    Segments segments;
    if (!remote_segment(rkey, va, bytes.size(), kAccessRemoteWrite, segments)) return CopyResult::Fault;
    return write_segments(segments, bytes, last);
}

CopyResult QueuePair::read_remote(std::uint32_t rkey, std::uint64_t va,
                                  std::span<const std::span<std::uint8_t>> slices) {
    std::uint64_t length = 0;
    for (const auto& slice : slices) length += slice.size();
    if (length == 0) return CopyResult::Done;
    Segments segments;
    if (!remote_segment(rkey, va, length, kAccessRemoteRead, segments)) return CopyResult::Fault;
    return read_segments(segments, slices);
}

bool QueuePair::complete(const Completion& completion) {
    CompletionQueue& cq = completion.receive ? *recv_cq_ : *send_cq_;
    return cq.push(completion, qpn, shape_.slot, *now_ns_);
}

void QueuePair::async_event(AsyncEventType type) {
    ++async_events_;
    events_->async_event({shape_.user_handle, static_cast<std::uint32_t>(type), 0});
}

}  // namespace vroce::nic
