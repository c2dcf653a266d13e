#include "nic/host/session_modify.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "nic/device/qp_transitions.hpp"
#include "nic/host/session_reply.hpp"

namespace vroce::nic {
namespace {

/// Longer than the kernel takes for its three ARP requests to a live neighbour, shorter than a person's patience.
constexpr std::chrono::milliseconds kResolveTimeout{2'000};

constexpr int kNeedsResolver = -1;

}  // namespace

void Session::modify_qp(ReceivedRecord& record) {
    Modify modify{.request = request_of<vroce_modify_qp>(record), .path = {}, .destination = {}};
    vroce_query_qp_reply answer{};
    if (!qps_.contains(modify.request.handle)) {
        host_.counters.add(HostCounter::RefusedHandle);
        return reply(VROCE_MODIFY_QP, EINVAL, answer);
    }
    if ((modify.request.attr_mask & kAttrAv) == 0) return finish_modify(modify, nullptr);
    // What is wrong otherwise is said at once: without a path the device gets as far as missing it.
    const int status = on_worker([&] {
        return host_.device.modify_qp(*context_, host_.services.now(), modify.request.handle, modify.request.attr_mask,
                                      modify.request.attr, nullptr, answer.attr);
    });
    if (status != EHOSTUNREACH) return reply(VROCE_MODIFY_QP, status, answer);
    const int found = find_path(modify);
    if (found == kNeedsResolver) return resolve(modify);
    if (found != 0) return reply(VROCE_MODIFY_QP, found, answer);
    finish_modify(modify, &modify.path);
}

/// Everything of the path but, perhaps, the destination's MAC address. 0, an errno or kNeedsResolver.
int Session::find_path(Modify& modify) {
    const vroce_qp_attr& attr = modify.request.attr;
    std::copy(std::begin(attr.grh_dgid), std::end(attr.grh_dgid), modify.destination.bytes.begin());
    if (attr.grh_sgid_index >= GidTable::kEntries) return EINVAL;
    modify.path.source = host_.gids.at(attr.grh_sgid_index);
    modify.path.source_mac = host_.config.mac;
    modify.path.vlan = host_.config.vlan;
    const bool is_group = modify.destination.bytes[0] == 0xff ||
                          (modify.destination.is_ipv4() && (modify.destination.bytes[12] & 0xf0) == 0xe0);
    if (is_zero(modify.path.source) || is_zero(modify.destination) || is_group ||
        modify.path.source.is_ipv4() != modify.destination.is_ipv4())
        return EINVAL;
    auto mac = host_.services.local_addresses.find(modify.destination, host_.config.vlan);
    if (!mac) mac = mac_of_link_local(modify.destination);
    if (!mac) return kNeedsResolver;
    modify.path.destination_mac = *mac;
    return 0;
}

// Other sessions go on; this one is not read until it has its answer, since replies come in order.
void Session::resolve(const Modify& modify) {
    host_.counters.add(HostCounter::ResolvesAsked);
    pending_ = std::make_unique<Modify>(modify);
    asking_ = std::make_shared<Session*>(this);
    host_.reactor.change(socket_token_, 0);
    resolve_timer_ = host_.reactor.after(kResolveTimeout, [this] {
        host_.counters.add(HostCounter::ResolvesTimedOut);
        on_resolved(EHOSTUNREACH, {});
    });
    const std::weak_ptr<Session*> asking = asking_;
    host_.services.resolver.resolve({host_.config.interface, modify.path.source, modify.destination},
                                    [asking](int error, MacAddress mac) {
                                        if (const auto self = asking.lock()) (*self)->on_resolved(error, mac);
                                    });
}

void Session::on_resolved(int error, const MacAddress& mac) {
    host_.reactor.cancel(resolve_timer_);
    resolve_timer_ = 0;
    asking_.reset();
    const std::unique_ptr<Modify> modify = std::move(pending_);
    host_.reactor.change(socket_token_, EPOLLIN);
    if (error != 0) {
        host_.counters.add(HostCounter::ResolvesFailed);
        vroce_query_qp_reply answer{};
        return reply(VROCE_MODIFY_QP, error, answer);
    }
    modify->path.destination_mac = mac;
    finish_modify(*modify, &modify->path);
}

void Session::finish_modify(const Modify& modify, const ResolvedPath* path) {
    vroce_query_qp_reply answer{};
    const int status = on_worker([&] {
        return host_.device.modify_qp(*context_, host_.services.now(), modify.request.handle, modify.request.attr_mask,
                                      modify.request.attr, path, answer.attr);
    });
    reply(VROCE_MODIFY_QP, status, answer);
}

}  // namespace vroce::nic
