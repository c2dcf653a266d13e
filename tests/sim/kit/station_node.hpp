// A station of the fabric.
#pragma once

#include <algorithm>

#include "tests/kit/station.hpp"
#include "tests/sim/kit/link.hpp"
#include "tests/sim/kit/world.hpp"

namespace vroce::sim {

class StationNode final : public Node {
public:
    StationNode(World& world, const test::StationConfig& config, LinkEnd& end, PacketPool& pool)
        : station(config, end, pool, world.now()), world_(world), end_(end) {
        world.add(*this);
    }
    void run(Instant now) override { station.run(now); }
    [[nodiscard]] Instant next_deadline() const override {
        return std::min(station.next_deadline(world_.now()), end_.next_arrival());
    }

    test::Station station;

private:
    World& world_;
    LinkEnd& end_;
};

}  // namespace vroce::sim
