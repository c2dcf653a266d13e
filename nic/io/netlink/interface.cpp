#include "nic/io/netlink/interface.hpp"

#include <fmt/core.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nic/bridge/announcement.hpp"

namespace vroce::nic {
namespace {

std::span<const std::uint8_t> name_bytes(const std::string& name) {
    return {reinterpret_cast<const std::uint8_t*>(name.c_str()), name.size() + 1};
}

ifinfomsg link_header(std::uint32_t index) {
    ifinfomsg header{};
    header.ifi_family = AF_UNSPEC;
    header.ifi_index = static_cast<int>(index);
    return header;
}

int set_link(NetlinkSocket& kernel, std::uint32_t index, const InterfaceSetup& setup) {
    NetlinkMessage message(RTM_NEWLINK, NLM_F_ACK, link_header(index));
    message.put(IFLA_ADDRESS, setup.mac.bytes);
    message.put_u32(IFLA_MTU, setup.mtu);
    return kernel.transact(message);
}

/// Of several interfaces in one network each answers for its own addresses only. Otherwise a peer learns the MAC of
/// whichever was first, and RDMA to one endpoint comes in by another.
void answer_for_own_addresses(NetlinkSocket& kernel, std::uint32_t index) {
    NetlinkMessage message(RTM_NEWLINK, NLM_F_ACK, link_header(index));
    const std::size_t families = message.begin(IFLA_AF_SPEC);
    const std::size_t inet = message.begin(AF_INET);
    const std::size_t settings = message.begin(IFLA_INET_CONF);
    message.put_u32(IPV4_DEVCONF_ARP_IGNORE, 1);
    message.put_u32(IPV4_DEVCONF_ARP_ANNOUNCE, 2);
    message.end(settings);
    message.end(inet);
    message.end(families);
    static_cast<void>(kernel.transact(message));  // a host with one interface does not need it
}

/// The kernel's own link-local address shall be the MAC's EUI-64, as GID 0 is, also after somebody took the interface
/// down and up. A kernel without IPv6 refuses this; then there is nothing to set.
void set_eui64(NetlinkSocket& kernel, std::uint32_t index) {
    NetlinkMessage message(RTM_NEWLINK, NLM_F_ACK, link_header(index));
    const std::size_t families = message.begin(IFLA_AF_SPEC);
    const std::size_t inet6 = message.begin(AF_INET6);
    message.put_u8(IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_EUI64);
    message.end(inet6);
    message.end(families);
    static_cast<void>(kernel.transact(message));
}

int bring_up(NetlinkSocket& kernel, std::uint32_t index) {
    ifinfomsg header = link_header(index);
    header.ifi_flags = IFF_UP;
    header.ifi_change = IFF_UP;
    NetlinkMessage message(RTM_NEWLINK, NLM_F_ACK, header);
    return kernel.transact(message);
}

int add_address(NetlinkSocket& kernel, std::uint32_t index, const InterfaceAddress& address) {
    const bool ipv4 = address.address.is_ipv4();
    ifaddrmsg header{};
    header.ifa_family = ipv4 ? AF_INET : AF_INET6;
    header.ifa_prefixlen = address.prefix_length;
    header.ifa_flags = ipv4 ? 0 : IFA_F_NODAD;
    header.ifa_index = index;
    NetlinkMessage message(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, header);
    const std::span<const std::uint8_t> bytes(address.address.bytes);
    const auto value = ipv4 ? bytes.subspan(12) : bytes;
    message.put(IFA_LOCAL, value);
    message.put(IFA_ADDRESS, value);
    if (ipv4 && address.prefix_length < 31) {
        // The last address of the network; without it, broadcasts leave with another source than people expect.
        std::uint8_t broadcast[4];
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned bits = address.prefix_length > 8 * i ? std::min(8u, address.prefix_length - 8 * i) : 0;
            broadcast[i] = static_cast<std::uint8_t>(value[i] | 0xFF >> bits);
        }
        message.put(IFA_BROADCAST, broadcast);
    }
    return kernel.transact(message);
}

}  // namespace

std::uint32_t interface_index(NetlinkSocket& kernel, const std::string& name) {
    NetlinkMessage message(RTM_GETLINK, 0, link_header(0));
    message.put(IFLA_IFNAME, name_bytes(name));
    std::uint32_t index = 0;
    const int error = kernel.transact(message, [&](const NetlinkReply& reply) {
        ifinfomsg header{};
        if (reply.type() == RTM_NEWLINK && reply.fixed(header)) index = static_cast<std::uint32_t>(header.ifi_index);
    });
    return error == 0 ? index : 0;
}

Status set_up_interface(NetlinkSocket& kernel, const InterfaceSetup& setup) {
    const std::uint32_t index = interface_index(kernel, setup.name);
    if (index == 0) return Error{fmt::format("interface {} is not there", setup.name)};
    const auto failed = [&](const std::string& what, int error) {
        return Error{fmt::format("interface {}: {}: {}", setup.name, what, std::strerror(error))};
    };
    if (const int e = set_link(kernel, index, setup); e != 0) {
        return failed(fmt::format("MAC {} and MTU {} cannot be set", text_of(setup.mac), setup.mtu), e);
    }
    set_eui64(kernel, index);
    answer_for_own_addresses(kernel, index);
    // Before it comes up, so that the kernel finds its own link-local address there already and does not test it.
    static_cast<void>(add_address(kernel, index, {link_local_of(setup.mac), 64}));
    if (const int e = bring_up(kernel, index); e != 0) return failed("cannot be brought up", e);
    for (const InterfaceAddress& address : setup.addresses) {
        if (const int e = add_address(kernel, index, address); e != 0) {
            return failed(fmt::format("address {}/{} cannot be added", text_of(address.address), address.prefix_length),
                          e);
        }
    }
    return Done{};
}

}  // namespace vroce::nic
