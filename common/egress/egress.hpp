// What leaves by a port, and when: eight queues, strict or weighted, each shaped to a rate of its own if wanted, paused
// by the peer, and the whole paced to the port's nominal speed (design D11a). Used by the switch and by the NIC.
// A machine without I/O: the owner asks for the next packet with the time in hand.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/base/time.hpp"
#include "common/base/time_histogram.hpp"
#include "common/egress/dwrr.hpp"
#include "common/egress/line_rate.hpp"
#include "common/egress/queue_schedule.hpp"
#include "common/egress/shaper.hpp"
#include "common/packet/packet.hpp"

namespace vroce {

struct EgressConfig {
    std::uint64_t speed_bps = 0;    ///< nominal speed of the port; 0: not paced
    std::uint64_t limit_bytes = 0;  ///< backlog of all queues beyond which enqueue refuses
    Duration idle_credit = microseconds(50);
    /// While backlogged a late worker may catch up on this much line time (D11f), so that its own gaps cost no rate.
    Duration catch_up = milliseconds(1);
    PortSchedule schedule{};  ///< default: all strict, the highest queue first
};

struct EgressCounters {
    std::uint64_t packets = 0;  ///< handed out by dequeue
    std::uint64_t bytes = 0;
    std::uint64_t refused = 0;  ///< enqueue over limit
    std::uint64_t backlog_bytes_max = 0;
};

struct QueueCounters {
    std::uint64_t packets = 0;  ///< handed out by dequeue
    std::uint64_t bytes = 0;
    std::uint64_t refused = 0;  ///< enqueue over the port's limit
    std::uint64_t backlog_bytes_max = 0;
    /// From Packet::meta.time, the arrival at this process, to dequeue: no second stamp for each packet. Packets that
    /// have no such time (0, or later than now) are not in it.
    TimeHistogram delay;
};

/// A packet that has left its queue.
struct Departed {
    Packet* packet;
    std::uint64_t depth_bytes;  ///< what its queue held without it
    unsigned queue;
};

class Egress {
public:
    static constexpr unsigned kQueues = kEgressQueues;
    static constexpr std::uint32_t kLineOverheadBytes = vroce::kLineOverheadBytes;

    explicit Egress(const EgressConfig& config);
    Egress(const Egress&) = delete;
    Egress& operator=(const Egress&) = delete;
    ~Egress();

    void set_speed(std::uint64_t speed_bps) { speed_ = LineRate(speed_bps); }
    /// What is queued stays, and is served the new way from the next packet on.
    void set_schedule(const PortSchedule& schedule);
    [[nodiscard]] const PortSchedule& schedule() const { return config_.schedule; }
    /// Bit q: queue q may not send (802.1Q clause 36). What it holds stays. It loses and gains nothing: its shaper
    /// stands still, it gets no share later for what others sent meanwhile, and after a pause of all queues there is no
    /// line time to catch up on.
    void set_paused(Instant now, std::uint8_t mask);
    [[nodiscard]] std::uint8_t paused_mask() const { return static_cast<std::uint8_t>(paused_); }
    /// Takes the packet, or refuses it (false) because the backlog would pass the limit: it stays the caller's.
    [[nodiscard]] bool enqueue(Packet* packet, unsigned queue) { return enqueue({&packet, 1}, queue); }
    /// The same for several, at least one: all of them or none.
    [[nodiscard]] bool enqueue(std::span<Packet* const> packets, unsigned queue);
    /// The next packet whose time on the line has come, or nullptr. The caller owns it.
    [[nodiscard]] Packet* dequeue(Instant now);
    /// The same, as often as there is one, into `out`. How many.
    [[nodiscard]] std::size_t dequeue(Instant now, std::span<Departed> out);
    /// The next packet whatever is paused, shaped or paced, to be discarded; not counted. nullptr when all are empty.
    [[nodiscard]] Packet* take_any();
    /// The queue of the packet that dequeue or take_any gave last.
    [[nodiscard]] unsigned last_queue() const { return last_queue_; }
    /// When dequeue has something to give, kNever while nothing is queued that may send. Not later than `now` only if
    /// dequeue(now) gives a packet.
    [[nodiscard]] Instant next_deadline() const;
    /// A frame that went by these queues takes the line for its time: what waits here leaves so much later.
    void take_line(Instant now, std::uint32_t frame_bytes);

    [[nodiscard]] std::uint64_t backlog_bytes() const { return backlog_bytes_; }
    [[nodiscard]] std::size_t backlog_packets() const { return backlog_packets_; }
    [[nodiscard]] std::uint64_t queue_bytes(unsigned queue) const { return queues_[queue % kQueues].bytes; }
    /// Visits what a queue holds, first to last: for people's questions, not for each packet.
    template <typename F>
    void for_each_queued(unsigned queue, F&& visit) const {
        for (const Packet* packet = queues_[queue % kQueues].head; packet != nullptr; packet = packet->next)
            visit(*packet);
    }
    /// Packets of the queues that are paused.
    [[nodiscard]] std::size_t paused_packets() const;
    [[nodiscard]] std::uint64_t limit_bytes() const { return config_.limit_bytes; }
    [[nodiscard]] const EgressCounters& counters() const { return counters_; }
    [[nodiscard]] const QueueCounters& queue_counters(unsigned queue) const { return queue_counters_[queue % kQueues]; }

private:
    struct Queue {
        Packet* head = nullptr;
        Packet* tail = nullptr;
        std::uint64_t bytes = 0;
        std::size_t packets = 0;
        Instant ready_at{};  ///< of a shaped queue that is not empty: from when its head may leave
    };
    [[nodiscard]] unsigned eligible() const { return occupied_ & ~paused_; }
    [[nodiscard]] unsigned ready(Instant now) const;
    [[nodiscard]] Instant earliest_ready() const;
    [[nodiscard]] unsigned choose(unsigned candidates) const;
    [[nodiscard]] Packet* pop(unsigned queue);
    void occupy_line(Instant now, std::uint32_t frame_bytes);
    void charge(Instant now, unsigned queue, std::uint32_t frame_bytes);
    void count(Instant now, unsigned queue, const Packet& packet);
    void refresh_ready(unsigned queue);
    void resume(Instant now, unsigned queues);

    EgressConfig config_;  ///< but the speed, which is speed_
    LineRate speed_;
    std::array<Queue, kQueues> queues_{};
    unsigned occupied_ = 0;  ///< bit q: queue q is not empty
    unsigned paused_ = 0;    ///< bit q: queue q may not send
    unsigned strict_ = 0;    ///< bit q: queue q goes before the weighted ones
    unsigned shaped_ = 0;    ///< bit q: queue q has a rate of its own
    unsigned last_queue_ = 0;
    std::uint64_t backlog_bytes_ = 0;
    std::size_t backlog_packets_ = 0;
    Instant wire_free_at_{};  ///< when the line has sent what was given to it
    std::uint32_t wire_fraction_q32_ = 0;
    bool was_idle_ = true;  ///< nothing could have been sent until the packet that was queued last
    Dwrr dwrr_;
    std::array<Shaper, kQueues> shapers_{};
    std::array<Instant, kQueues> paused_since_{};
    EgressCounters counters_;
    std::array<QueueCounters, kQueues> queue_counters_{};
};

}  // namespace vroce
