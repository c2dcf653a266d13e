#include "nic/device/queue_pair.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "nic/device/limits.hpp"
#include "nic/device/shared.hpp"

namespace vroce::nic {

namespace {

constexpr std::uint32_t kLastOpcode = VROCE_WR_RDMA_READ;

using SgeList = std::array<vroce_sge, VROCE_MAX_SGE>;

std::uint8_t* slot_of(const WorkRing& ring, std::uint32_t index) {
    return ring.base + std::size_t{index & (ring.slots - 1)} * ring.stride;
}

/// Copies the scatter list of a slot once.
void copy_sges(const WorkRing& ring, std::uint32_t index, std::size_t header_bytes, std::uint32_t count, SgeList& out) {
    copy_once(out.data(), slot_of(ring, index) + header_bytes, std::size_t{count} * sizeof(vroce_sge));
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

/// Why a scatter entry's key does not serve.
DeviceCounter local_key_counter(RemoteAccess verdict) {
    switch (verdict) {
        case RemoteAccess::BadKey:
            return DeviceCounter::LocalKeyUnknown;
        case RemoteAccess::WrongPd:
            return DeviceCounter::LocalKeyWrongPd;
        case RemoteAccess::OutOfBounds:
            return DeviceCounter::LocalKeyOutOfBounds;
        case RemoteAccess::Ok:
        case RemoteAccess::NoPermission:
            break;
    }
    return DeviceCounter::LocalKeyNoPermission;
}

}  // namespace

// ---- work requests -------------------------------------------------------------------------------------------------

bool QueuePair::fetch_send(std::uint32_t index, SendWqe& out, bool& valid) {
    bool sane = true;
    if (shape_.sq.slots == 0 || !posted(observe_index(shape_.control->sq_producer), index, shape_.sq.slots, sane))
        return false;
    vroce_send_wqe wqe;
    copy_once(&wqe, slot_of(shape_.sq, index), sizeof wqe);
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
    if (valid && is_inline) {
        out.length = wqe.inline_bytes;
    } else if (valid) {
        SgeList sges;
        copy_sges(shape_.sq, index, sizeof wqe, wqe.sge_count, sges);
        out.sge_count = wqe.sge_count;
        out.length = total_bytes(sges, wqe.sge_count);
        valid = out.length <= Limits::kMessageBytes;
    }
    if (valid)
        out.opcode = static_cast<WrOpcode>(wqe.opcode);
    else
        refuse(DeviceCounter::BadSendWqes, sane);
    return true;
}

bool QueuePair::fetch_recv(std::uint32_t index, RecvWqe& out, bool& valid) {
    bool sane = true;
    if (shape_.rq.slots == 0 || !posted(observe_index(shape_.control->rq_producer), index, shape_.rq.slots, sane))
        return false;
    vroce_recv_wqe wqe;
    copy_once(&wqe, slot_of(shape_.rq, index), sizeof wqe);
    out = RecvWqe{};
    out.wr_id = wqe.wr_id;
    out.index = index;
    valid = sane && wqe.sge_count <= shape_.max_recv_sge;
    if (!valid) {
        refuse(DeviceCounter::BadRecvWqes, sane);
        return true;
    }
    SgeList sges;
    copy_sges(shape_.rq, index, sizeof wqe, wqe.sge_count, sges);
    out.sge_count = wqe.sge_count;
    out.length = total_bytes(sges, wqe.sge_count);
    return true;
}

void QueuePair::refuse(DeviceCounter kind, bool sane) {
    around_.counters.add(kind);
    if (!sane) around_.counters.add(DeviceCounter::RingOverruns);
}

// ---- memory --------------------------------------------------------------------------------------------------------

bool QueuePair::local_segments(const vroce_sge* sges, std::uint32_t count, std::uint64_t offset, std::uint64_t length,
                               std::uint32_t access, Segments& out) {
    for (std::uint32_t i = 0; i < count && length != 0; ++i) {
        if (offset >= sges[i].length) {
            offset -= sges[i].length;
            continue;
        }
        const std::uint64_t va = sges[i].addr + offset;
        const std::uint64_t take = std::min<std::uint64_t>(sges[i].length - offset, length);
        const auto [verdict, region] = around_.regions.check(sges[i].lkey, shape_.pd, va, take, access);
        if (verdict != RemoteAccess::Ok) {
            around_.counters.add(local_key_counter(verdict));
            return false;
        }
        out.add(*region, va, take);
        offset = 0;
        length -= take;
    }
    // An application that shortened its list meanwhile has itself to blame.
    if (length != 0) around_.counters.add(DeviceCounter::ListsShortened);
    return length == 0;
}

bool QueuePair::remote_segment(std::uint32_t rkey, std::uint64_t va, std::uint64_t length, std::uint32_t access,
                               Segments& out) {
    const auto [verdict, region] = around_.regions.check(rkey, shape_.pd, va, length, access);
    if (verdict != RemoteAccess::Ok) {
        around_.counters.add(DeviceCounter::RemoteKeyStale);
        return false;
    }
    out.add(*region, va, length);
    return true;
}

CopyResult QueuePair::read(const Segments& segments, RoomSlices slices) {
    return segments.read(around_.memory, slices, {qpn, CopyDirection::Send}, around_.counters);
}

CopyResult QueuePair::write(const Segments& segments, ByteSlices slices, bool last) {
    return segments.write(around_.memory, slices, last, {qpn, CopyDirection::Receive}, around_.counters);
}

CopyResult QueuePair::scatter(const vroce_sge* sges, std::uint32_t count, std::uint64_t offset, ByteSlices slices,
                              bool last) {
    Segments segments;
    if (!local_segments(sges, count, offset, total_bytes(slices), kAccessLocalWrite, segments))
        return CopyResult::Fault;
    return write(segments, slices, last);
}

CopyResult QueuePair::gather(const SendWqe& wqe, std::uint64_t offset, RoomSlices slices) {
    if ((wqe.flags & kSendInline) != 0) {
        const std::uint8_t* data = slot_of(shape_.sq, wqe.index) + sizeof(vroce_send_wqe) + offset;
        for (const auto& slice : slices) {
            std::memcpy(slice.data(), data, slice.size());
            data += slice.size();
        }
        return CopyResult::Done;
    }
    const std::uint64_t length = total_bytes(slices);
    SgeList sges;
    copy_sges(shape_.sq, wqe.index, sizeof(vroce_send_wqe), wqe.sge_count, sges);
    Segments segments;
    if (!local_segments(sges.data(), wqe.sge_count, offset, length, 0, segments)) return CopyResult::Fault;
    return read(segments, slices);
}

CopyResult QueuePair::scatter_read(const SendWqe& wqe, std::uint64_t offset, ByteSlices slices, bool last) {
    SgeList sges;
    copy_sges(shape_.sq, wqe.index, sizeof(vroce_send_wqe), wqe.sge_count, sges);
    return scatter(sges.data(), wqe.sge_count, offset, slices, last);
}

CopyResult QueuePair::scatter_recv(const RecvWqe& wqe, std::uint64_t offset, ByteSlices slices, bool last) {
    SgeList sges;
    copy_sges(shape_.rq, wqe.index, sizeof(vroce_recv_wqe), wqe.sge_count, sges);
    return scatter(sges.data(), wqe.sge_count, offset, slices, last);
}

RemoteAccess QueuePair::check_remote(std::uint32_t rkey, std::uint64_t va, std::uint64_t length, std::uint32_t access) {
    return around_.regions.check(rkey, shape_.pd, va, length, access).verdict;
}

CopyResult QueuePair::write_remote(std::uint32_t rkey, std::uint64_t va, ByteSlices slices, bool last) {
    const std::uint64_t length = total_bytes(slices);
    if (length == 0) return CopyResult::Done;
    Segments segments;
    if (!remote_segment(rkey, va, length, kAccessRemoteWrite, segments)) return CopyResult::Fault;
    return write(segments, slices, last);
}

CopyResult QueuePair::read_remote(std::uint32_t rkey, std::uint64_t va, RoomSlices slices) {
    const std::uint64_t length = total_bytes(slices);
    if (length == 0) return CopyResult::Done;
    Segments segments;
    if (!remote_segment(rkey, va, length, kAccessRemoteRead, segments)) return CopyResult::Fault;
    return read(segments, slices);
}

// ---- results -------------------------------------------------------------------------------------------------------

bool QueuePair::complete(const Completion& completion) {
    CompletionQueue& cq = completion.receive ? *recv_cq_ : *send_cq_;
    return cq.push(completion, qpn, shape_.slot, around_.now_ns);
}

void QueuePair::async_event(AsyncEventType type) {
    // Told only to who asked for it (ibv_modify_qp(3), en_sqd_async_notify).
    if (type == AsyncEventType::SqDrained && attr.en_sqd_async_notify == 0) return;
    ++async_events_;
    around_.counters.add(DeviceCounter::AsyncEvents);
    around_.events.async_event({shape_.user_handle, static_cast<std::uint32_t>(type), 0});
}

void QueuePair::state_changed(QpState state) {
    attr.qp_state = static_cast<std::uint32_t>(state);
    // What is flushed now is the application's again: no copy begins any more.
    if (state == QpState::Err && around_.copier != nullptr) around_.copier->revoke_qp(qpn);
}

}  // namespace vroce::nic
