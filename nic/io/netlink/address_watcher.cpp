#include "nic/io/netlink/address_watcher.hpp"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <algorithm>

#include "nic/io/netlink/interface.hpp"

namespace vroce::nic {
namespace {

/// The address as a GID; false for one that cannot be used (yet).
bool read_address(const NetlinkReply& reply, ifaddrmsg& header, Gid& gid) {
    if (reply.type() != RTM_NEWADDR || !reply.fixed(header)) return false;
    const std::uint32_t flags = reply.find_u32<ifaddrmsg>(IFA_FLAGS, header.ifa_flags);
    if ((flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) != 0) return false;
    auto value = reply.find<ifaddrmsg>(IFA_LOCAL);
    if (value.empty()) value = reply.find<ifaddrmsg>(IFA_ADDRESS);  // IPv6 has no peer as a rule
    gid = {};
    if (header.ifa_family == AF_INET && value.size() == 4) {
        gid.bytes[10] = gid.bytes[11] = 0xFF;
        std::copy(value.begin(), value.end(), gid.bytes.begin() + 12);
        return true;
    }
    if (header.ifa_family != AF_INET6 || value.size() != 16) return false;
    std::copy(value.begin(), value.end(), gid.bytes.begin());
    return true;
}

}  // namespace

Result<std::unique_ptr<AddressWatcher>> AddressWatcher::open() {
    auto notifications = NetlinkSocket::open(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);
    if (!notifications) return Error{notifications.error()};
    auto requests = NetlinkSocket::open(0);
    if (!requests) return Error{requests.error()};
    auto watcher = std::make_unique<AddressWatcher>();
    watcher->notifications_ = std::move(*notifications);
    watcher->requests_ = std::move(*requests);
    return watcher;
}

void AddressWatcher::watch(const std::string& interface, std::size_t endpoint) {
    watched_.push_back({interface, endpoint, {}});
}

void AddressWatcher::serve(const Changed& changed) {
    // What changed is asked for as a whole: a notification may be lost, come late or be about a part.
    static_cast<void>(notifications_->receive([](const NetlinkReply&) {}));
    refresh(changed);
}

void AddressWatcher::refresh(const Changed& changed) {
    std::map<std::uint32_t, InterfaceState> states = ask_kernel();
    for (Watched& watched : watched_) {
        const std::uint32_t index = interface_index(*requests_, watched.interface);
        const auto found = states.find(index);
        InterfaceState now = found == states.end() ? InterfaceState{} : std::move(found->second);
        if (now == watched.state) continue;
        watched.state = std::move(now);
        changed(watched.endpoint, watched.state);
    }
}

std::map<std::uint32_t, InterfaceState> AddressWatcher::ask_kernel() {
    std::map<std::uint32_t, InterfaceState> states;
    NetlinkMessage links(RTM_GETLINK, NLM_F_DUMP, ifinfomsg{});
    requests_->transact(links, [&](const NetlinkReply& reply) {
        ifinfomsg header{};
        if (reply.type() != RTM_NEWLINK || !reply.fixed(header)) return;
        InterfaceState& state = states[static_cast<std::uint32_t>(header.ifi_index)];
        state.up = (header.ifi_flags & IFF_UP) != 0;
        state.mtu = reply.find_u32<ifinfomsg>(IFLA_MTU, 0);
    });
    NetlinkMessage addresses(RTM_GETADDR, NLM_F_DUMP, ifaddrmsg{});
    requests_->transact(addresses, [&](const NetlinkReply& reply) {
        ifaddrmsg header{};
        Gid gid;
        if (read_address(reply, header, gid)) states[header.ifa_index].addresses.push_back(gid);
    });
    return states;
}

}  // namespace vroce::nic
