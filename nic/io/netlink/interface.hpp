// The IP interface of an endpoint as the kernel should have it: address, MTU, state, IP addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "nic/control/values.hpp"
#include "nic/io/netlink/netlink_socket.hpp"

namespace vroce::nic {

struct InterfaceSetup {
    std::string name;
    MacAddress mac;
    std::uint32_t mtu = 1'500;
    std::vector<InterfaceAddress> addresses;  ///< beside the link-local one, which follows from the MAC
};

/// In the socket's namespace: sets everything, then brings it up. IPv6 addresses come without duplicate detection,
/// since an address that is tentative for a second is of no use to a lab.
Status set_up_interface(NetlinkSocket& kernel, const InterfaceSetup& setup);

/// 0 when there is no such interface.
[[nodiscard]] std::uint32_t interface_index(NetlinkSocket& kernel, const std::string& name);

}  // namespace vroce::nic
