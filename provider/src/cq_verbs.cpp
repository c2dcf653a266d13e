// Completion queues: making, arming, and a destruction that leaves no event behind.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <new>

#include "provider/src/acknowledge.hpp"
#include "provider/src/context.hpp"
#include "provider/src/death.hpp"
#include "provider/src/verbs.hpp"

namespace vroce::provider {
namespace {

int place_ring(Context& context, CompletionQueue& cq, const vroce_create_cq_reply& reply, int new_fd) {
    const vroce_ring_place& place = reply.ring;
    const std::uint64_t bytes = std::uint64_t{place.slots} * place.stride;
    std::byte* ring = context.arena_at(place, place.offset, bytes, new_fd);
    std::byte* control = context.arena_at(place, reply.control_offset, sizeof(vroce_cq_control), -1);
    if (ring == nullptr || control == nullptr) return ENOMEM;
    if (!std::has_single_bit(place.slots) || place.stride != sizeof(vroce_cqe)) return EPROTO;
    cq.ring = reinterpret_cast<vroce_cqe*>(ring);
    cq.control = reinterpret_cast<vroce_cq_control*>(control);
    cq.mask = place.slots - 1;
    cq.shift = static_cast<std::uint32_t>(std::countr_zero(place.slots));
    cq.handle = cq.verbs.handle = reply.handle;
    return 0;
}

int ask_to_destroy(Context& context, std::uint32_t handle, vroce_simple_reply& reply) {
    vroce_simple_request request{};
    request.handle = handle;
    return context.session.call(VROCE_DESTROY_CQ, request, reply);
}

int try_create_cq(Context& context, int cqe, ibv_comp_channel* channel, int comp_vector, CompletionQueue& cq) {
    if (const int error = context.control_error()) return error;
    if (cqe < 1 || static_cast<std::uint32_t>(cqe) > context.device.max_cqe) return EINVAL;
    if (comp_vector < 0 || static_cast<std::uint32_t>(comp_vector) >= context.device.num_comp_vectors) return EINVAL;
    cq.context = &context;
    if (channel != nullptr && (cq.channel = context.find_channel(channel->fd)) == nullptr) return EINVAL;
    vroce_create_cq request{};
    request.cqe = static_cast<std::uint32_t>(cqe);
    request.channel = cq.channel != nullptr ? cq.channel->handle : UINT32_MAX;
    request.user_handle = reinterpret_cast<std::uint64_t>(&cq.verbs);
    request.comp_vector = static_cast<std::uint32_t>(comp_vector);
    vroce_create_cq_reply reply{};
    ReceivedFds fds;
    const std::lock_guard guard(context.creation);
    if (const int error = context.session.call(VROCE_CREATE_CQ, request, reply, fds)) return error;
    if (const int error = place_ring(context, cq, reply, fds.count() > 0 ? fds.take(0) : -1)) {
        vroce_simple_reply ignored{};
        static_cast<void>(ask_to_destroy(context, reply.handle, ignored));
        return error;
    }
    // What the arena has room for beyond the request may be used too.
    cq.verbs.cqe = static_cast<int>(cq.mask + 1);
    context.add_cq(cq);
    return 0;
}

/// After this no event names the CQ: unread ones are taken back, read ones were acknowledged.
void settle_events(Context& context, CompletionQueue& cq, const vroce_simple_reply* counts) {
    const auto element = reinterpret_cast<std::uint64_t>(&cq.verbs);
    const std::uint32_t unread = cq.channel != nullptr ? cq.channel->pipe.withdraw(element) : 0;
    const std::uint32_t unread_async = context.async_events.withdraw(element);
    if (counts == nullptr) return;  // the NIC is gone and nobody knows how many it wrote
    wait_until_acknowledged(cq.verbs.mutex, cq.verbs.cond, cq.verbs.comp_events_completed,
                            counts->comp_events - unread);
    wait_until_acknowledged(cq.verbs.mutex, cq.verbs.cond, cq.verbs.async_events_completed,
                            counts->async_events - unread_async);
}

}  // namespace

ibv_cq* create_cq(ibv_context* base, int cqe, ibv_comp_channel* channel, int comp_vector) {
    auto cq = std::unique_ptr<CompletionQueue>(new (std::nothrow) CompletionQueue);
    if (cq == nullptr) return nullptr;
    if (const int error = try_create_cq(context_of(base), cqe, channel, comp_vector, *cq)) {
        errno = error;
        return nullptr;
    }
    return &cq.release()->verbs;
}

int destroy_cq(ibv_cq* base) {
    CompletionQueue& cq = completion_queue(base);
    Context& context = *cq.context;
    if (!cq.members.empty()) return EBUSY;
    if (context.usable()) {
        vroce_simple_reply reply{};
        const int error = context.dead() ? EIO : ask_to_destroy(context, cq.handle, reply);
        if (error != 0 && !context.session.dead()) return error;
        context.remove_cq(cq);
        settle_events(context, cq, error == 0 ? &reply : nullptr);
    }
    delete &cq;
    return 0;
}

int req_notify_cq(ibv_cq* base, int solicited_only) {
    CompletionQueue& cq = completion_queue(base);
    if (!cq.context->usable()) return EIO;
    publish_arm(*cq.control, solicited_only != 0 ? VROCE_ARM_SOLICITED : VROCE_ARM_NEXT);
    if (cq.context->dead()) send_event_if_flushable(cq);
    return 0;
}

}  // namespace vroce::provider
