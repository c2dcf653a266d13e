// Next hop and MAC address of a destination, from the host's kernel: it knows routes and neighbours of the endpoint's
// interface, and finds out about a neighbour when it is asked to use one (design D14).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "nic/host/resolver.hpp"
#include "nic/io/netlink/netlink_socket.hpp"

namespace vroce::nic {

/// Control thread only.
class NeighbourResolver final : public Resolver {
public:
    /// Opens its sockets in the calling thread's namespace.
    static Result<std::unique_ptr<NeighbourResolver>> open();

    void resolve(const ResolveRequest& request, Answer answer) override;

    /// Readable when serve() has something to do; serve it also at next_deadline().
    [[nodiscard]] int fd() const { return notifications_->fd(); }
    void serve(Instant now);
    [[nodiscard]] Instant next_deadline() const;
    /// The time for deadlines of requests from now on; called in each round of the control loop.
    void set_now(Instant now) { now_ = now; }

private:
    static constexpr Duration kTimeout = seconds(2);

    struct NextHop {
        std::uint32_t interface = 0;
        Gid address;
    };
    struct Waiting {
        NextHop hop;
        Instant until;
        Answer answer;
    };
    int find_next_hop(const ResolveRequest& request, NextHop& hop);
    [[nodiscard]] bool find_neighbour(const NextHop& hop, MacAddress& mac);
    int ask_kernel_to_resolve(const NextHop& hop);
    void take_notification(const NetlinkReply& reply);
    /// Answers everything that `matches`. An answer may ask again: it does not find the list in between.
    template <typename Matches>
    void settle(Matches matches, int error, const MacAddress& mac);

    std::unique_ptr<NetlinkSocket> notifications_;
    std::unique_ptr<NetlinkSocket> requests_;
    std::vector<Waiting> waiting_;
    Instant now_;
};

}  // namespace vroce::nic
