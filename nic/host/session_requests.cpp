// The requests about device, port, domains, regions, channels and queues.
#include <algorithm>
#include <array>
#include <cerrno>

#include "nic/host/session_modify.hpp"
#include "nic/host/session_reply.hpp"
#include "nic/memory/mapped_memory.hpp"

namespace vroce::nic {
namespace {

/// New arenas travel with the reply that first names them.
std::span<const int> fd_of(const ArenaPlace& place) {
    return place.new_fd >= 0 ? std::span<const int>(&place.new_fd, 1) : std::span<const int>();
}

vroce_ring_place ring_place(const ArenaPlace& place, std::uint64_t skip, std::uint32_t slots, std::uint32_t stride) {
    return {place.arena, slots, stride, 0, place.offset + skip, place.arena_bytes};
}

}  // namespace

// ---- device and port -----------------------------------------------------------------------------------------------

void Session::query_device(ReceivedRecord&) {
    vroce_device_attr attr{};
    Device::fill_limits(attr);
    const auto guid = eui64(host_.config.mac);
    std::memcpy(&attr.node_guid, guid.data(), guid.size());
    attr.sys_image_guid = attr.node_guid;
    attr.vendor_id = host_.config.vendor_id;
    attr.vendor_part_id = host_.config.vendor_part_id;
    std::strncpy(attr.fw_ver, VROCE_VERSION, sizeof attr.fw_ver - 1);
    reply(VROCE_QUERY_DEVICE, 0, attr);
}

void Session::query_port(ReceivedRecord&) {
    const PortState& port = host_.port;
    const PortRate& rate = port_rate(port.speed_bps);
    vroce_port_attr attr{};
    attr.state = port.state();
    attr.phys_state = port.physical_state();
    attr.max_mtu = kMaxMtu;
    attr.active_mtu = active_mtu(port.mtu_bytes);
    attr.gid_tbl_len = GidTable::kEntries;
    attr.port_cap_flags = kPortCapabilities;
    attr.max_msg_bytes = static_cast<std::uint32_t>(Limits::kMessageBytes);
    attr.pkey_tbl_len = 1;
    attr.active_width = rate.width;
    attr.active_speed = rate.speed;
    reply(VROCE_QUERY_PORT, 0, attr);
}

// ---- protection domains and memory regions -------------------------------------------------------------------------

void Session::alloc_pd(ReceivedRecord&) {
    vroce_simple_reply answer{};
    const int status = on_worker([&] { return host_.device.alloc_pd(*context_, answer.handle); });
    reply(VROCE_ALLOC_PD, status, answer);
}

void Session::dealloc_pd(ReceivedRecord& record) {
    const auto request = request_of<vroce_simple_request>(record);
    const int status = on_worker([&] { return host_.device.dealloc_pd(*context_, request.handle); });
    if (status == EINVAL) host_.counters.add(HostCounter::RefusedHandle);
    vroce_simple_reply answer{};
    reply(VROCE_DEALLOC_PD, status, answer);
}

// A descriptor is an offer: memory that cannot be mapped is reached as all other memory.
std::unique_ptr<MappedMemory> Session::map_shared(const vroce_reg_mr& request, const UniqueFd& fd) {
    const bool writable = (request.access & kAccessLocalWrite) != 0;
    std::uint64_t end = 0;
    if (!fd || request.length == 0 || mapped_mrs_ == kMappedMrsMax ||
        __builtin_add_overflow(request.fd_offset, request.length, &end) || !is_memory_file(fd.get(), end, writable))
        return nullptr;
    return MappedMemory::map(fd.get(), request.fd_offset, request.length, writable);
}

void Session::reg_mr(ReceivedRecord& record) {
    const auto request = request_of<vroce_reg_mr>(record);
    MrRequest region{.pd = request.pd,
                     .access = request.access,
                     .addr = request.addr,
                     .length = request.length,
                     .iova = request.iova,
                     .mapping = map_shared(request, record.fds[0])};
    const bool mapped = region.mapping != nullptr;
    vroce_reg_mr_reply answer{};
    const int status =
        on_worker([&] { return host_.device.reg_mr(*context_, std::move(region), answer.handle, answer.lkey); });
    if (status == 0) {
        answer.rkey = answer.lkey;
        answer.mapped = mapped ? 1 : 0;
        mrs_mapped_[answer.handle] = mapped;
        mapped_mrs_ += mapped ? 1 : 0;
        host_.counters.add(mapped ? HostCounter::MrsMapped : HostCounter::MrsHanded);
    }
    reply(VROCE_REG_MR, status, answer);
}

void Session::dereg_mr(ReceivedRecord& record) {
    const auto request = request_of<vroce_simple_request>(record);
    const int status = on_worker([&] { return host_.device.dereg_mr(*context_, request.handle); });
    if (status == EINVAL) host_.counters.add(HostCounter::RefusedHandle);
    if (status == 0) {
        const auto mr = mrs_mapped_.extract(request.handle);
        mapped_mrs_ -= !mr.empty() && mr.mapped() ? 1 : 0;
    }
    vroce_simple_reply answer{};
    reply(VROCE_DEREG_MR, status, answer);
}

// ---- completion channels -------------------------------------------------------------------------------------------

void Session::create_channel(ReceivedRecord&) {
    constexpr std::size_t kChannelPipeBytes = 64 * 1024;
    vroce_create_channel_reply answer{};
    if (channel_users_.size() == kChannelsMax) return reply(VROCE_CREATE_CHANNEL, ENOMEM, answer);
    Result<std::unique_ptr<EventPipe>> made = EventPipe::create(sizeof(std::uint64_t), kChannelPipeBytes);
    if (!made) return reply(VROCE_CREATE_CHANNEL, EMFILE, answer);
    EventPipe& pipe = **made;
    answer.handle = next_channel_++;
    channel_users_[answer.handle] = 0;
    host_.services.run_on_worker([&] { events_->add_channel(answer.handle, std::move(*made)); });
    const std::array<int, 2> fds{pipe.read_fd(), pipe.application_write_fd()};
    reply(VROCE_CREATE_CHANNEL, 0, answer, fds);
    if (!ended_) pipe.close_application_ends();
}

void Session::destroy_channel(ReceivedRecord& record) {
    const auto request = request_of<vroce_simple_request>(record);
    vroce_simple_reply answer{};
    const auto channel = channel_users_.find(request.handle);
    if (channel == channel_users_.end()) {
        host_.counters.add(HostCounter::RefusedHandle);
        return reply(VROCE_DESTROY_CHANNEL, EINVAL, answer);
    }
    if (channel->second != 0) return reply(VROCE_DESTROY_CHANNEL, EBUSY, answer);
    channel_users_.erase(channel);
    std::unique_ptr<EventPipe> pipe;
    host_.services.run_on_worker([&] { pipe = events_->remove_channel(request.handle); });
    if (const auto watched = watched_pipes_.find(pipe.get()); watched != watched_pipes_.end()) {
        host_.reactor.remove(watched->second);
        watched_pipes_.erase(watched);
    }
    reply(VROCE_DESTROY_CHANNEL, 0, answer);
}

// ---- completion queues ---------------------------------------------------------------------------------------------

void Session::create_cq(ReceivedRecord& record) {
    const auto request = request_of<vroce_create_cq>(record);
    vroce_create_cq_reply answer{};
    ArenaPlace place;
    const int status = make_cq(request, answer, place);
    reply(VROCE_CREATE_CQ, status, answer, fd_of(place));
    if (status == 0 && !ended_ && place.new_fd >= 0) arenas_.announced(place.arena);
}

int Session::make_cq(const vroce_create_cq& request, vroce_create_cq_reply& answer, ArenaPlace& place) {
    const bool with_channel = request.channel != CompletionQueue::kNoChannel;
    const auto channel = channel_users_.find(request.channel);
    if (with_channel && channel == channel_users_.end()) {
        host_.counters.add(HostCounter::RefusedHandle);
        return EINVAL;
    }
    std::uint32_t slots = 0;
    if (const int error = Device::plan_cq(request.cqe, request.comp_vector, slots)) return error;
    constexpr std::uint64_t kControlBytes = sizeof(vroce_cq_control);
    const std::optional<ArenaPlace> made = arenas_.allocate(kControlBytes + std::uint64_t{slots} * sizeof(vroce_cqe));
    if (!made) return ENOMEM;
    place = *made;
    const CqRing ring{reinterpret_cast<vroce_cq_control*>(place.memory.data()),
                      reinterpret_cast<vroce_cqe*>(place.memory.data() + kControlBytes), slots};
    const int error = on_worker(
        [&] { return host_.device.create_cq(*context_, ring, request.channel, request.user_handle, answer.handle); });
    if (error != 0) {
        arenas_.free(place.arena, place.offset);
        return error;
    }
    answer.control_offset = place.offset;
    answer.ring = ring_place(place, kControlBytes, slots, sizeof(vroce_cqe));
    cqs_[answer.handle] = {place.arena, place.offset, request.user_handle, request.channel};
    if (with_channel) ++channel->second;
    return 0;
}

void Session::destroy_cq(ReceivedRecord& record) {
    const auto request = request_of<vroce_simple_request>(record);
    vroce_simple_reply answer{};
    const auto cq = cqs_.find(request.handle);
    if (cq == cqs_.end()) {
        host_.counters.add(HostCounter::RefusedHandle);
        return reply(VROCE_DESTROY_CQ, EINVAL, answer);
    }
    const RingRecord ring = cq->second;
    const int status = on_worker([&] {
        std::uint32_t raised = 0;
        std::uint32_t raised_async = 0;
        const int error = host_.device.destroy_cq(*context_, request.handle, raised, raised_async);
        if (error != 0) return error;
        // Of what was raised, some was merged or taken back before it was written; the application waits for these.
        answer.comp_events = events_->retire_comp(ring.channel, ring.user_handle);
        answer.async_events = events_->retire_async(ring.user_handle);
        return 0;
    });
    if (status == 0) {
        cqs_.erase(cq);
        arenas_.free(ring.arena, ring.offset);
        if (const auto channel = channel_users_.find(ring.channel); channel != channel_users_.end()) --channel->second;
    }
    reply(VROCE_DESTROY_CQ, status, answer);
}

// ---- queue pairs ---------------------------------------------------------------------------------------------------

void Session::create_qp(ReceivedRecord& record) {
    const auto request = request_of<vroce_create_qp>(record);
    vroce_create_qp_reply answer{};
    ArenaPlace place;
    const int status = make_qp(request, answer, place);
    reply(VROCE_CREATE_QP, status, answer, fd_of(place));
    if (status == 0 && !ended_ && place.new_fd >= 0) arenas_.announced(place.arena);
}

int Session::make_qp(const vroce_create_qp& request, vroce_create_qp_reply& answer, ArenaPlace& place) {
    QpPlan plan;
    if (const int error = Device::plan_qp(request, plan)) return error;
    constexpr std::uint64_t kControlBytes = sizeof(vroce_qp_control);
    const std::uint64_t sq_bytes = std::uint64_t{plan.sq_slots} * plan.sq_stride;
    const std::uint64_t rq_bytes = std::uint64_t{plan.rq_slots} * plan.rq_stride;
    const std::optional<ArenaPlace> made = arenas_.allocate(kControlBytes + sq_bytes + rq_bytes);
    if (!made) return ENOMEM;
    place = *made;
    auto* base = reinterpret_cast<std::uint8_t*>(place.memory.data());
    const int error = on_worker([&] {
        return host_.device.create_qp(*context_, request, plan, reinterpret_cast<vroce_qp_control*>(base),
                                      base + kControlBytes, base + kControlBytes + sq_bytes, answer.handle, answer.qpn,
                                      answer.slot);
    });
    if (error != 0) {
        arenas_.free(place.arena, place.offset);
        return error;
    }
    answer.max_send_wr = plan.sq_slots;
    answer.max_recv_wr = plan.rq_slots;
    answer.max_send_sge = plan.max_send_sge;
    answer.max_recv_sge = plan.max_recv_sge;
    answer.max_inline = plan.max_inline;
    answer.control_offset = place.offset;
    answer.sq = ring_place(place, kControlBytes, plan.sq_slots, plan.sq_stride);
    answer.rq = ring_place(place, kControlBytes + sq_bytes, plan.rq_slots, plan.rq_stride);
    qps_[answer.handle] = {place.arena, place.offset, request.user_handle, 0};
    return 0;
}

void Session::query_qp(ReceivedRecord& record) {
    const auto request = request_of<vroce_simple_request>(record);
    vroce_query_qp_reply answer{};
    const int status = on_worker([&] { return host_.device.query_qp(*context_, request.handle, answer.attr); });
    if (status == EINVAL) host_.counters.add(HostCounter::RefusedHandle);
    reply(VROCE_QUERY_QP, status, answer);
}

void Session::destroy_qp(ReceivedRecord& record) {
    const auto request = request_of<vroce_simple_request>(record);
    vroce_simple_reply answer{};
    const auto qp = qps_.find(request.handle);
    if (qp == qps_.end()) {
        host_.counters.add(HostCounter::RefusedHandle);
        return reply(VROCE_DESTROY_QP, EINVAL, answer);
    }
    const RingRecord ring = qp->second;
    const int status = on_worker([&] {
        std::uint32_t raised = 0;
        const int error = host_.device.destroy_qp(*context_, request.handle, raised);
        if (error == 0) answer.async_events = events_->retire_async(ring.user_handle);
        return error;
    });
    if (status == 0) {
        qps_.erase(qp);
        arenas_.free(ring.arena, ring.offset);
    }
    reply(VROCE_DESTROY_QP, status, answer);
}

}  // namespace vroce::nic
