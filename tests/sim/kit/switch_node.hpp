// A switch of the fabric: its core, and the loop that a worker runs around it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "switch/core/switch.hpp"
#include "tests/sim/kit/link.hpp"
#include "tests/sim/kit/world.hpp"

namespace vroce::sim {

class SwitchNode final : public Node {
public:
    SwitchNode(sw::ConfigSnapshot config, std::uint64_t seed) : core(std::move(config), seed) {
        devices_.resize(core.port_count());
    }

    void attach(sw::PortId port, LinkEnd& end, PacketPool& pool) {
        devices_[port] = &end;
        core.attach(port, end, pool);
        core.set_link(Instant{}, port, true);
    }
    /// A worker that comes round only this often (0: whenever there is something), as on a shared core.
    void set_loop(Duration loop) { loop_ = loop; }
    /// The worker is away until then.
    void stall_until(Instant end) { not_before_ = end; }

    void run(Instant now) override {
        for (sw::PortId port = 0; port < devices_.size(); ++port) receive(now, port);
        core.on_timeout(now);
        static_cast<void>(core.transmit(now));
        not_before_ = now + loop_;
    }
    [[nodiscard]] Instant next_deadline() const override {
        Instant next = core.next_deadline();
        for (const LinkEnd* end : devices_) {
            if (end != nullptr) next = std::min(next, end->next_arrival());
        }
        return std::max(next, not_before_);
    }

    sw::Switch core;

private:
    void receive(Instant now, sw::PortId port) {
        if (devices_[port] == nullptr) return;
        std::array<Packet*, sw::kBurst> packets;
        while (const std::size_t count = devices_[port]->receive(packets))
            core.receive(now, port, {packets.data(), count});
    }

    std::vector<LinkEnd*> devices_;
    Duration loop_{};
    Instant not_before_{};
};

}  // namespace vroce::sim
