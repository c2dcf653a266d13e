#include "nic/io/netlink/neighbour_resolver.hpp"

#include <linux/neighbour.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "nic/io/netlink/interface.hpp"

namespace vroce::nic {
namespace {

/// States in which the kernel itself would send to the address.
constexpr std::uint16_t kUsable = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;

std::uint8_t family_of(const Gid& address) {
    return address.is_ipv4() ? AF_INET : AF_INET6;
}

std::span<const std::uint8_t> bytes_of(const Gid& address) {
    const std::span<const std::uint8_t> bytes(address.bytes);
    return address.is_ipv4() ? bytes.subspan(12) : bytes;
}

bool read_gid(std::span<const std::uint8_t> value, Gid& out) {
    if (value.size() == 16) {
        std::copy(value.begin(), value.end(), out.bytes.begin());
        return true;
    }
    if (value.size() != 4) return false;
    out = {};
    out.bytes[10] = out.bytes[11] = 0xFF;
    std::copy(value.begin(), value.end(), out.bytes.begin() + 12);
    return true;
}

/// Group addresses need nobody's answer (RFC 1112 6.4, RFC 2464 7).
bool group_mac(const Gid& address, MacAddress& mac) {
    const auto& b = address.bytes;
    if (address.is_ipv4() && b[12] >= 224 && b[12] < 240) {
        mac = {{0x01, 0x00, 0x5E, static_cast<std::uint8_t>(b[13] & 0x7F), b[14], b[15]}};
        return true;
    }
    if (address.is_ipv4() || b[0] != 0xFF) return false;
    mac = {{0x33, 0x33, b[12], b[13], b[14], b[15]}};
    return true;
}

ndmsg neighbour_header(std::uint8_t family, std::uint32_t interface) {
    ndmsg header{};
    header.ndm_family = family;
    header.ndm_ifindex = static_cast<int>(interface);
    return header;
}

bool read_mac(const NetlinkReply& reply, MacAddress& mac) {
    const auto value = reply.find<ndmsg>(NDA_LLADDR);
    if (value.size() != mac.bytes.size()) return false;
    std::copy(value.begin(), value.end(), mac.bytes.begin());
    return true;
}

}  // namespace

Result<std::unique_ptr<NeighbourResolver>> NeighbourResolver::open() {
    auto notifications = NetlinkSocket::open(RTMGRP_NEIGH);
    if (!notifications) return Error{notifications.error()};
    auto requests = NetlinkSocket::open(0);
    if (!requests) return Error{requests.error()};
    auto resolver = std::make_unique<NeighbourResolver>();
    resolver->notifications_ = std::move(*notifications);
    resolver->requests_ = std::move(*requests);
    return resolver;
}

void NeighbourResolver::resolve(const ResolveRequest& request, Answer answer) {
    MacAddress mac;
    if (group_mac(request.destination, mac)) return answer(0, mac);
    NextHop hop;
    if (const int error = find_next_hop(request, hop); error != 0) return answer(error, {});
    const bool known = find_neighbour(hop, mac);
    // A known neighbour is asked again as well: RDMA traffic never tells the kernel that an entry is in use.
    const int error = ask_kernel_to_resolve(hop);
    if (known) return answer(0, mac);
    if (error != 0) return answer(error, {});
    waiting_.push_back({hop, now_ + kTimeout, std::move(answer)});
}

int NeighbourResolver::find_next_hop(const ResolveRequest& request, NextHop& hop) {
    hop.interface = interface_index(*requests_, request.interface);
    if (hop.interface == 0) return ENODEV;
    rtmsg header{};
    header.rtm_family = family_of(request.destination);
    header.rtm_dst_len = static_cast<std::uint8_t>(8 * bytes_of(request.destination).size());
    NetlinkMessage message(RTM_GETROUTE, 0, header);
    message.put(RTA_DST, bytes_of(request.destination));
    if (family_of(request.source) == header.rtm_family) message.put(RTA_SRC, bytes_of(request.source));
    message.put_u32(RTA_OIF, hop.interface);
    hop.address = request.destination;
    std::uint8_t type = RTN_UNSPEC;
    const int error = requests_->transact(message, [&](const NetlinkReply& reply) {
        rtmsg route{};
        if (reply.type() != RTM_NEWROUTE || !reply.fixed(route)) return;
        type = route.rtm_type;
        static_cast<void>(read_gid(reply.find<rtmsg>(RTA_GATEWAY), hop.address));
    });
    if (error != 0) return error;
    return type == RTN_UNICAST ? 0 : EHOSTUNREACH;
}

bool NeighbourResolver::find_neighbour(const NextHop& hop, MacAddress& mac) {
    NetlinkMessage message(RTM_GETNEIGH, 0, neighbour_header(family_of(hop.address), hop.interface));
    message.put(NDA_DST, bytes_of(hop.address));
    bool usable = false;
    requests_->transact(message, [&](const NetlinkReply& reply) {
        ndmsg header{};
        if (reply.type() != RTM_NEWNEIGH || !reply.fixed(header)) return;
        usable = (header.ndm_state & kUsable) != 0 && read_mac(reply, mac);
    });
    return usable;
}

int NeighbourResolver::ask_kernel_to_resolve(const NextHop& hop) {
    ndmsg header = neighbour_header(family_of(hop.address), hop.interface);
    header.ndm_flags = NTF_USE;
    NetlinkMessage message(RTM_NEWNEIGH, NLM_F_ACK | NLM_F_CREATE, header);
    message.put(NDA_DST, bytes_of(hop.address));
    return requests_->transact(message);
}

void NeighbourResolver::serve(Instant now) {
    now_ = now;
    static_cast<void>(notifications_->receive([this](const NetlinkReply& reply) { take_notification(reply); }));
    settle([now](const Waiting& w) { return w.until <= now; }, EHOSTUNREACH, {});
}

template <typename Matches>
void NeighbourResolver::settle(Matches matches, int error, const MacAddress& mac) {
    const auto first =
        std::stable_partition(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return !matches(w); });
    std::vector<Waiting> settled(std::make_move_iterator(first), std::make_move_iterator(waiting_.end()));
    waiting_.erase(first, waiting_.end());
    for (const Waiting& w : settled) w.answer(error, mac);
}

void NeighbourResolver::take_notification(const NetlinkReply& reply) {
    ndmsg header{};
    Gid address;
    if (reply.type() != RTM_NEWNEIGH || !reply.fixed(header) || !read_gid(reply.find<ndmsg>(NDA_DST), address)) return;
    MacAddress mac;
    const bool usable = (header.ndm_state & kUsable) != 0 && read_mac(reply, mac);
    if (!usable && (header.ndm_state & NUD_FAILED) == 0) return;
    const auto interface = static_cast<std::uint32_t>(header.ndm_ifindex);
    settle([&](const Waiting& w) { return w.hop.interface == interface && w.hop.address == address; },
           usable ? 0 : EHOSTUNREACH, mac);
}

Instant NeighbourResolver::next_deadline() const {
    Instant earliest = kNever;
    for (const Waiting& w : waiting_) earliest = std::min(earliest, w.until);
    return earliest;
}

}  // namespace vroce::nic
