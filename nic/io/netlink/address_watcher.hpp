// What the kernel says about the endpoints' IP interfaces, as it changes: addresses, state, MTU.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "nic/io/netlink/netlink_socket.hpp"
#include "nic/wire/address.hpp"

namespace vroce::nic {

struct InterfaceState {
    bool up = false;
    std::uint32_t mtu = 0;
    std::vector<Gid> addresses;  ///< in the kernel's order; IPv4 as ::ffff:a.b.c.d
    bool operator==(const InterfaceState&) const = default;
};

/// Control thread only.
class AddressWatcher {
public:
    /// Called with the number that watch() was given, when something changed.
    using Changed = std::function<void(std::size_t endpoint, const InterfaceState& state)>;

    /// Opens its sockets in the calling thread's namespace.
    static Result<std::unique_ptr<AddressWatcher>> open();

    void watch(const std::string& interface, std::size_t endpoint);
    /// Readable when serve() has something to do.
    [[nodiscard]] int fd() const { return notifications_->fd(); }
    void serve(const Changed& changed);
    /// Asks the kernel and tells all differences; serve() calls it after a notification.
    void refresh(const Changed& changed);

private:
    struct Watched {
        std::string interface;
        std::size_t endpoint = 0;
        InterfaceState state;
    };
    [[nodiscard]] std::map<std::uint32_t, InterfaceState> ask_kernel();

    std::unique_ptr<NetlinkSocket> notifications_;
    std::unique_ptr<NetlinkSocket> requests_;
    std::vector<Watched> watched_;
};

}  // namespace vroce::nic
