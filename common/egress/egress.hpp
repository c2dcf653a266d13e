// What leaves by a port, and when: queues, and pacing to the port's nominal speed (design D11a). Used by the switch and
// by the NIC. One class is served for now; the queue index is carried so that ETS, strict priority and pause have their
// place. A machine without I/O: the owner asks for the next packet with the time in hand.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/time.hpp"
#include "common/packet/packet.hpp"

namespace vroce {

struct EgressConfig {
    std::uint64_t speed_bps = 0;    ///< nominal speed of the port; 0: not paced
    std::uint64_t limit_bytes = 0;  ///< backlog beyond which enqueue refuses
    Duration idle_credit = microseconds(50);
    /// While backlogged a late worker may catch up on this much line time (D11f), so that its own gaps cost no rate.
    Duration catch_up = milliseconds(1);
};

struct EgressCounters {
    std::uint64_t packets = 0;  ///< handed out by dequeue
    std::uint64_t bytes = 0;
    std::uint64_t refused = 0;  ///< enqueue over limit
    std::uint64_t backlog_bytes_max = 0;
};

class Egress {
public:
    static constexpr unsigned kQueues = 8;
    /// Bytes a frame takes on the line beyond its length: FCS, preamble, start delimiter, inter-packet gap.
    static constexpr std::uint32_t kLineOverheadBytes = 4 + 20;

    explicit Egress(const EgressConfig& config) : config_(config) {}
    Egress(const Egress&) = delete;
    Egress& operator=(const Egress&) = delete;
    ~Egress();

    void set_speed(std::uint64_t speed_bps) { config_.speed_bps = speed_bps; }
    /// Bit q: queue q may not send (802.1Q clause 36). What it holds stays; after a pause of all there is no credit to
    /// catch up on.
    void set_paused(Instant now, std::uint8_t mask);
    [[nodiscard]] std::uint8_t paused_mask() const { return static_cast<std::uint8_t>(paused_); }
    /// Takes the packet, or refuses it (false) because the backlog would pass the limit: it stays the caller's.
    [[nodiscard]] bool enqueue(Packet* packet, unsigned queue);
    /// The next packet whose time on the line has come, or nullptr. The caller owns it.
    [[nodiscard]] Packet* dequeue(Instant now);
    /// When dequeue has something to give, kNever while nothing is queued that may send.
    [[nodiscard]] Instant next_deadline() const { return eligible() == 0 ? kNever : wire_free_at_; }

    [[nodiscard]] std::uint64_t backlog_bytes() const { return backlog_bytes_; }
    [[nodiscard]] std::size_t backlog_packets() const { return backlog_packets_; }
    [[nodiscard]] std::uint64_t limit_bytes() const { return config_.limit_bytes; }
    [[nodiscard]] const EgressCounters& counters() const { return counters_; }

private:
    struct Queue {
        Packet* head = nullptr;
        Packet* tail = nullptr;
    };
    [[nodiscard]] unsigned eligible() const { return occupied_ & ~paused_; }
    [[nodiscard]] Packet* pop_next();
    void occupy_line(Instant now, std::uint32_t frame_bytes);

    EgressConfig config_;
    std::array<Queue, kQueues> queues_{};
    unsigned occupied_ = 0;  ///< bit q: queue q is not empty
    unsigned paused_ = 0;    ///< bit q: queue q may not send
    std::uint64_t backlog_bytes_ = 0;
    std::size_t backlog_packets_ = 0;
    Instant wire_free_at_{};  ///< when the line has sent what was given to it
    bool was_idle_ = true;
    EgressCounters counters_;
};

}  // namespace vroce
