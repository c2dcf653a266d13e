// What a port says: asks its peer for a pause while a priority is congested, keeps asking before the pause runs out,
// and ends it when the congestion is over. A machine without I/O: the owner polls it in its fast loop, before anything
// else that it does, since after a gap of its worker the peer's pause may be about to end (design D11e).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/base/time.hpp"
#include "pfc/frame.hpp"
#include "pfc/pause_mode.hpp"
#include "pfc/quanta.hpp"

namespace vroce {

struct PauseSenderConfig {
    std::uint64_t speed_bps = 0;  ///< nominal speed of the port, which gives quanta their length; 0: nothing is said
    PauseMode mode = PauseMode::kOff;
    std::uint8_t priorities = 0;        ///< bit p: PFC may be asked for priority p; link pause does not look at it
    std::uint16_t quanta = kQuantaMax;  ///< length of the pause asked for, 1..65535; 0 is taken as 1
};

struct PauseSaid {
    std::uint64_t xoff_frames = 0;     ///< that began a pause
    std::uint64_t refresh_frames = 0;  ///< that prolonged one
    std::uint64_t xon_frames = 0;      ///< that ended one
};

/// Every `now` must not be earlier than the one before.
class PauseSender {
public:
    explicit PauseSender(const PauseSenderConfig& config) { set_config(config); }

    /// Forgets what was asked, as reset does; a priority that is still congested is asked for anew by the next poll.
    void configure(Instant now, const PauseSenderConfig& config);
    /// The link went down, or came up: forgets what was asked and says nothing about it. Do not poll while it is down.
    void reset(Instant now);
    /// Forced pause: XOFF is kept for these priorities whatever is congested, from the next poll on.
    void set_storm(std::uint8_t priorities);

    /// congested: bit p while priority p must not receive more. The frame to be sent at once, if any: it names only the
    /// priorities that begin, end, or must be refreshed (half of the pause is over).
    [[nodiscard]] std::optional<PauseFrame> poll(Instant now, std::uint8_t congested);
    /// When poll must be called although nothing changed; kNever while nothing is asked.
    [[nodiscard]] Instant next_deadline() const;

    /// Bit p: the peer is asked to pause priority p (all of them: link pause).
    [[nodiscard]] std::uint8_t asked_mask() const;
    /// PFC frames.
    [[nodiscard]] const PauseSaid& said(unsigned priority) const { return slots_[priority % kPriorities].said; }
    [[nodiscard]] const PauseSaid& link_said() const { return slots_[kLinkSlot].said; }
    /// For how long a pause was asked for until `now`, from XOFF to XON; what goes on is in it.
    [[nodiscard]] Duration asked_time(Instant now, unsigned priority) const {
        return total(now, slots_[priority % kPriorities]);
    }
    [[nodiscard]] Duration link_asked_time(Instant now) const { return total(now, slots_[kLinkSlot]); }

private:
    static constexpr unsigned kLinkSlot = kPriorities;
    struct Slot {
        bool asked = false;
        Instant since{};       ///< of what is asked
        Instant refresh_at{};  ///< of what is asked
        Duration before{};     ///< asked for, in pauses that are over
        PauseSaid said;
    };
    void set_config(const PauseSenderConfig& config);
    [[nodiscard]] bool step(Instant now, Slot& slot, bool wanted);
    void ask(Instant now, Slot& slot);
    static void end(Instant now, Slot& slot);
    static Duration total(Instant now, const Slot& slot);

    PauseSenderConfig config_;
    Duration refresh_after_{};  ///< half of the pause
    std::uint8_t storm_ = 0;
    bool storm_changed_ = false;
    std::array<Slot, kPriorities + 1> slots_{};
};

}  // namespace vroce
