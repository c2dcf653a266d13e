// Flow control of one port, both ways: which queues its peer has told it not to serve, and what it tells its peer.
// Frames in, frames out; a machine without I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "pfc/frame.hpp"
#include "pfc/pause_mode.hpp"
#include "pfc/pause_receiver.hpp"
#include "pfc/pause_sender.hpp"

namespace vroce {

struct FlowControlSettings {
    std::uint64_t speed_bps = 0;  ///< nominal speed of the port, which gives quanta their length
    PauseMode mode = PauseMode::kOff;
    std::uint8_t tx_priorities = 0;                   ///< bit p: PFC may be asked for priority p
    std::uint8_t rx_priorities = 0;                   ///< bit p: PFC for priority p is obeyed
    std::array<std::uint8_t, 8> priority_to_queue{};  ///< the queue that a pause of the priority holds
    std::array<std::uint8_t, 6> mac{};                ///< source of pause frames: the port's own
};

/// Every `now` must not be earlier than the one before.
class FlowControl {
public:
    using Frame = std::array<std::uint8_t, kPauseFrameBytes>;

    FlowControl() : receiver_({}), sender_({}) {}

    /// Counters go on; pauses that are no longer obeyed end, what was asked for is asked anew if it still holds.
    void configure(Instant now, const FlowControlSettings& settings);
    /// The link went down: nobody is paused any more, and nobody is told.
    void reset(Instant now);

    /// A MAC control frame of the peer.
    void receive(Instant now, std::span<const std::uint8_t> frame);
    /// Bit q: egress queue q may not send at `now`.
    [[nodiscard]] std::uint8_t paused_queues(Instant now) const;
    /// congested: bit p while priority p must not receive more. The frame to be sent at once, before all others.
    [[nodiscard]] std::optional<Frame> poll(Instant now, std::uint8_t congested);
    /// When paused_queues changes or poll has something to say, although nothing came; kNever: not by itself.
    [[nodiscard]] Instant next_deadline(Instant now) const;

    [[nodiscard]] const FlowControlSettings& settings() const { return settings_; }
    [[nodiscard]] PauseReceiver& receiver() { return receiver_; }
    [[nodiscard]] PauseSender& sender() { return sender_; }
    [[nodiscard]] const PauseReceiver& receiver() const { return receiver_; }
    [[nodiscard]] const PauseSender& sender() const { return sender_; }
    /// MAC control frames that are no pause frames of either kind: another opcode, or too short.
    [[nodiscard]] std::uint64_t malformed() const { return malformed_; }
    /// Pause frames for another station: not obeyed.
    [[nodiscard]] std::uint64_t other_destination() const { return other_destination_; }

private:
    FlowControlSettings settings_;
    PauseReceiver receiver_;
    PauseSender sender_;
    std::uint64_t malformed_ = 0;
    std::uint64_t other_destination_ = 0;
};

}  // namespace vroce
