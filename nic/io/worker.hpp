// The worker: one loop that moves every packet of the process. It owns ports, bridge, engine and device tables; others
// reach it through its mailbox.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/counters/loop_counters.hpp"
#include "common/dpdk/clock.hpp"
#include "common/dpdk/ethdev_port.hpp"
#include "common/dpdk/mailbox.hpp"
#include "common/dpdk/worker_sleeper.hpp"
#include "nic/bridge/bridge.hpp"
#include "nic/bridge/vlan_tag.hpp"
#include "nic/host/arena.hpp"
#include "nic/host/doorbell_set.hpp"
#include "nic/io/attached_port.hpp"
#include "nic/io/tap_port.hpp"
#include "nic/transport/engine.hpp"

namespace vroce::nic {

class Device;

struct WorkerCounters {
    LoopCounters loop;
    std::uint64_t link_changes = 0;
};

/// What the worker works with; all of it outlives the worker.
struct WorkerParts {
    EthdevPort& uplink;
    std::uint64_t speed_bps = 0;
    std::uint64_t queue_limit_bytes = 0;  ///< of what waits for one port in one queue
    std::uint8_t pfc_priorities = 0;      ///< bit p: priority p is lossless on the uplink
    std::vector<std::unique_ptr<TapPort>>& taps;
    std::vector<std::string> tap_names;
    std::vector<BridgeEndpoint> endpoints;  ///< one for each TAP, at least one
    std::uint32_t mtu = 0;
    PacketPool& pool;
    Engine& engine;
    StatusPage& status_page;
    Mailbox& mailbox;
    DoorbellSet& doorbells;
    int link_event_fd = -1;  ///< the worker writes to it when the uplink's state changed
    PollMode poll = PollMode::Adaptive;
};

class Worker final : private BridgeSink {
public:
    static constexpr std::uint32_t kIndex = 0;  ///< of the only worker, in the status page

    explicit Worker(WorkerParts parts);
    ~Worker() override;

    /// Until stop().
    void run();

    // ---- through the mailbox only
    void stop() { running_ = false; }
    void add_device(Device& device);
    void remove_device(Device& device);
    void set_pfc(std::uint8_t priorities);
    void set_addresses(std::size_t endpoint, std::vector<Gid> addresses);
    /// nullptr when there is no such port.
    [[nodiscard]] AttachedPort* find_port(const std::string& name);
    [[nodiscard]] AttachedPort& uplink() { return *uplink_; }
    [[nodiscard]] EthdevPort& uplink_device() { return parts_.uplink; }
    [[nodiscard]] const std::vector<std::unique_ptr<AttachedPort>>& taps() const { return taps_; }
    [[nodiscard]] const TapPort& tap_device(std::size_t endpoint) const { return *parts_.taps[endpoint]; }
    [[nodiscard]] const Bridge& bridge() const { return bridge_; }
    [[nodiscard]] const Engine& engine() const { return parts_.engine; }
    [[nodiscard]] const WorkerCounters& counters() const { return counters_; }
    [[nodiscard]] std::uint64_t sleeps() const { return sleeper_.sleeps(); }

    /// Any thread.
    [[nodiscard]] Instant now() const { return clock_.now(); }

private:
    static constexpr std::size_t kBurst = 32;
    /// Frames that may wait for the line: enough to fill it while the worker is at other things, few enough that
    /// retransmission timers and pacing agree.
    static constexpr std::size_t kBacklogPackets = 2 * kBurst;

    bool receive_wire(Instant now);
    bool receive_taps(Instant now);
    bool serve_applications(Instant now);
    bool transmit(Instant now);
    bool flush(Instant now);
    void look_after_link(Instant now);
    void sleep(Instant now);
    void set_sleeping(bool sleeping);
    [[nodiscard]] Instant next_deadline(Instant now) const;
    /// Frames that the line can take soon: of the interfaces, and of the engine, which waits for a paused class too.
    [[nodiscard]] std::size_t room_for_taps() const;
    [[nodiscard]] std::size_t room_for_engine() const;
    /// Bit p: priority p had better not come in, since packets are few.
    [[nodiscard]] std::uint8_t congested();
    /// Tells everybody the time, and counts how long the last one took.
    void begin_iteration(Instant now);

    void to_wire(Packet* packet) override { uplink_->send(packet, priority_of(*packet)); }
    void to_tap(std::size_t endpoint, Packet* packet) override { taps_[endpoint]->send(packet, 0); }
    void to_engine(Packet* packet) override;
    /// What the bridge gave us for the engine, in one go: what comes together lands together.
    void feed_engine();

    WorkerParts parts_;
    TscClock clock_;
    Bridge bridge_;
    std::unique_ptr<AttachedPort> uplink_;
    std::vector<std::unique_ptr<AttachedPort>> taps_;
    std::vector<Device*> devices_;
    WorkerSleeper sleeper_;
    std::array<Packet*, kBurst> burst_{};
    std::array<Packet*, kBurst> for_engine_{};
    std::size_t for_engine_count_ = 0;
    std::size_t first_tap_ = 0;
    std::size_t pool_packets_ = 0;  ///< when all are there
    Instant now_;                   ///< of this iteration
    Instant next_link_look_;
    Instant next_announcement_;
    bool link_was_up_ = false;
    bool packets_are_few_ = false;
    bool running_ = true;
    WorkerCounters counters_;
};

}  // namespace vroce::nic
