// A host at a port: sends flows as fast as its line, its peer's pauses and the flows themselves let it, and knows of
// every frame that reaches it whose it is and which ones before it are missing. It paces, queues and pauses with the
// same code as the NIC. On the virtual clock its port is a link of the fabric, on real time a DPDK port.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/base/random.hpp"
#include "common/egress/port_tx.hpp"
#include "common/packet/port.hpp"
#include "pfc/flow_control.hpp"

namespace vroce::test {

using Mac = std::uint64_t;

struct StationConfig {
    Mac mac = 0;
    std::uint64_t speed_bps = 10'000'000'000;
    std::uint8_t pfc_priorities = 1u << 3;  ///< obeyed, and asked for by block()
    bool obeys = true;                      ///< false: a host that has never heard of pause
    PortSchedule schedule{};
    /// Line time that a late station may catch up on. Without, it never hands its line more than the line takes, so
    /// that what is on the way when a pause arrives is the cable's alone.
    Duration catch_up{};
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

class Station {
public:
    static constexpr std::uint32_t kSmallestFrameBytes = 64;

    /// Port and pool outlive it.
    Station(const StationConfig& config, Port& port, PacketPool& pool, Instant now);

    /// The flow's number, unique when stations have different MACs.
    std::uint64_t add(const Flow& flow);
    void stop_flows();
    /// Asks the peer to pause these priorities, without an end.
    void block(std::uint8_t priorities) {
        flow_control_.sender().set_storm(priorities);
        woken_ = true;
    }
    /// Sends one frame that nobody needs, so that bridges know the station.
    void announce();

    /// One iteration of its loop: what has arrived, first of all pauses, then what may leave.
    void run(Instant now);
    /// When run() is worth something although nothing arrived.
    [[nodiscard]] Instant next_deadline(Instant now) const;

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

    StationConfig config_;
    Port& port_;
    PacketPool& pool_;
    PortTx tx_;
    FlowControl flow_control_;
    Random random_;
    std::vector<Sending> sending_;
    std::map<std::uint64_t, Arrivals> arrivals_;
    bool woken_ = true;  ///< something changed from outside
};

}  // namespace vroce::test
