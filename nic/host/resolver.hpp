// Who knows at which MAC address an IP destination is reached. The NIC process asks the host's kernel (netlink); tests
// answer from a table.
#pragma once

#include <functional>
#include <string>

#include "nic/wire/address.hpp"

namespace vroce::nic {

struct ResolveRequest {
    std::string interface;  ///< the endpoint's IP interface
    Gid source;
    Gid destination;  ///< IPv4 as ::ffff:a.b.c.d
};

class Resolver {
public:
    /// error: 0, or a positive errno such as EHOSTUNREACH, ENETUNREACH.
    using Answer = std::function<void(int error, MacAddress mac)>;

    virtual ~Resolver() = default;
    /// Never blocks. `answer` is called at most once, on the control thread, at once or later; after 2 s nobody listens
    /// any more, and calling it then is harmless.
    virtual void resolve(const ResolveRequest& request, Answer answer) = 0;
};

}  // namespace vroce::nic
