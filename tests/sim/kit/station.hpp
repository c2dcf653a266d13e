// A host of the fabric: sends flows as fast as its line, its peer's pauses and the flows themselves let it, and knows
// of every frame that reaches it whose it is and which ones before it are missing. It paces, queues and pauses with the
// same code as the NIC.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/base/random.hpp"
#include "common/egress/port_tx.hpp"
#include "pfc/flow_control.hpp"
#include "tests/sim/kit/link.hpp"
#include "tests/sim/kit/world.hpp"

namespace vroce::sim {

using Mac = std::uint64_t;

struct StationConfig {
    Mac mac = 0;
    std::uint64_t speed_bps = 10'000'000'000;
    std::uint8_t pfc_priorities = 1u << 3;  ///< obeyed, and asked for by block()
    bool obeys = true;                      ///< false: a host that has never heard of pause
    PortSchedule schedule{};
    std::uint64_t seed = 1;
};

struct Flow {
    Mac destination = 0;
    std::uint8_t priority = 0;  ///< PCP of its tag (VID 0), and its queue
    std::uint8_t dscp = 0;
    std::uint8_t ecn = 2;                    ///< ECT(0)
    std::vector<std::uint32_t> frame_bytes;  ///< each frame has one of these; at least kSmallestFrameBytes
    std::uint64_t rate_bps = 0;              ///< of frames without overhead; 0: as fast as it can
    std::uint64_t packets = UINT64_MAX;      ///< then it ends
};

/// What arrived of one flow.
struct Arrivals {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t missing = 0;  ///< gaps in the sequence, never filled later: nothing reorders here
    std::uint64_t reordered = 0;
    std::uint64_t marked = 0;  ///< ECN: congestion experienced
    std::uint64_t next = 0;    ///< sequence number expected
};

class Station final : public Node {
public:
    static constexpr std::uint32_t kSmallestFrameBytes = 64;

    Station(World& world, const StationConfig& config, LinkEnd& end, PacketPool& pool);

    /// The flow's number, unique in the fabric when stations have different MACs.
    std::uint64_t add(const Flow& flow);
    void stop_flows();
    /// Asks the peer to pause these priorities, without an end.
    void block(std::uint8_t priorities) {
        flow_control_.sender().set_storm(priorities);
        woken_ = true;
    }
    /// Sends one frame that nobody needs, so that bridges know the station.
    void announce();

    void run(Instant now) override;
    [[nodiscard]] Instant next_deadline() const override;

    [[nodiscard]] std::uint64_t sent(std::uint64_t flow) const;
    [[nodiscard]] Arrivals arrivals(std::uint64_t flow) const;
    /// Of all flows together.
    [[nodiscard]] Arrivals arrivals() const;
    [[nodiscard]] const FlowControl& flow_control() const { return flow_control_; }
    [[nodiscard]] const PortTx& tx() const { return tx_; }

private:
    struct Sending {
        Flow flow;
        std::uint64_t id = 0;
        std::uint64_t sent = 0;
        Instant next_at{};
    };

    void receive(Instant now);
    void take(Instant now, Packet& packet);
    void generate(Instant now);
    [[nodiscard]] bool has_room(const Sending& sending) const;
    void send(Instant now, Sending& sending);
    void send_pause(Instant now);

    World& world_;
    StationConfig config_;
    LinkEnd& end_;
    PacketPool& pool_;
    PortTx tx_;
    FlowControl flow_control_;
    Random random_;
    std::vector<Sending> sending_;
    std::map<std::uint64_t, Arrivals> arrivals_;
    bool woken_ = true;  ///< something changed from outside
};

}  // namespace vroce::sim
