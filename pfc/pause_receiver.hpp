// What a port heard: which priorities its peer has paused, until when. A machine without I/O: nothing happens at the
// end of a pause by itself, the answer just changes, to the picosecond.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "common/base/time.hpp"
#include "common/counters/counter_set.hpp"
#include "pfc/frame.hpp"
#include "pfc/pause_mode.hpp"

namespace vroce {

struct PauseReceiverConfig {
    std::uint64_t speed_bps = 0;  ///< nominal speed of the port, which gives quanta their length; 0: nothing is obeyed
    PauseMode mode = PauseMode::kOff;
    std::uint8_t priorities = 0;  ///< bit p: PFC for priority p is obeyed; asymmetric PFC obeys all (0xFF)
};

/// Why a frame had no effect, or not all of it.
enum class IgnoredPause : std::uint8_t {
    ModeOff,      ///< the port obeys no pause
    OtherKind,    ///< PFC on a port of link pause, or the other way round
    EmptyVector,  ///< PFC that enables no priority
    NotObeyed,    ///< PFC that names a priority which the port does not obey
    Count
};
std::string_view label(IgnoredPause reason);

/// Frames heard, obeyed or not.
struct PauseHeard {
    std::uint64_t pause_frames = 0;
    std::uint64_t resume_frames = 0;  ///< of 0 quanta
};

/// One timer of the peer's, and for how long it ran in all.
class PauseTimer {
public:
    [[nodiscard]] bool running(Instant now) const { return now < until_; }
    [[nodiscard]] Instant until() const { return until_; }
    /// Replaces the timer; until <= now: it ends.
    void set(Instant now, Instant until) {
        before_ = total(now);
        since_ = now;
        until_ = until;
    }
    [[nodiscard]] Duration total(Instant now) const {
        return before_ + std::max(std::min(now, until_) - since_, Duration{});
    }

private:
    Instant since_{};
    Instant until_{};
    Duration before_{};
};

/// Every `now` must not be earlier than the one before.
class PauseReceiver {
public:
    explicit PauseReceiver(const PauseReceiverConfig& config) : config_(config) {}

    /// Counters go on. Timers of what is no longer obeyed end; the others run to their end as they were set.
    void configure(Instant now, const PauseReceiverConfig& config);
    /// Ends all pauses, not the forced ones: the link is down, and who is there afterwards has paused nothing.
    void reset(Instant now);
    void on_frame(Instant now, const PauseFrame& frame);
    /// Fault `pfc-storm`: as if the peer paused these priorities without a gap, until the mask says otherwise. It has
    /// no effect on what the port does not obey; on a port of link pause any priority stands for all.
    void set_storm(Instant now, std::uint8_t priorities);

    /// Bit p: priority p must not be sent at `now`.
    [[nodiscard]] std::uint8_t paused_mask(Instant now) const;
    /// When paused_mask changes next without another frame; later than `now`, kNever when it will not.
    [[nodiscard]] Instant next_deadline(Instant now) const;

    /// PFC frames.
    [[nodiscard]] const PauseHeard& heard(unsigned priority) const { return heard_[priority % kPriorities]; }
    [[nodiscard]] const PauseHeard& link_heard() const { return link_heard_; }
    /// For how long the peer's PFC frames had paused this priority until `now`; what goes on is in it.
    [[nodiscard]] Duration paused_time(Instant now, unsigned priority) const {
        return timers_[priority % kPriorities].total(now);
    }
    [[nodiscard]] Duration link_paused_time(Instant now) const { return link_timer_.total(now); }
    /// The same for set_storm; a time in which both held is in both.
    [[nodiscard]] Duration storm_time(Instant now, unsigned priority) const {
        return storm_timers_[priority % kPriorities].total(now);
    }
    /// In frames.
    [[nodiscard]] const CounterSet<IgnoredPause>& ignored() const { return ignored_; }

private:
    [[nodiscard]] std::uint8_t obeyed() const;
    [[nodiscard]] std::uint8_t storm_mask() const;
    [[nodiscard]] bool ignore_kind(const PauseFrame& frame);
    void on_priority_frame(Instant now, const PauseFrame& frame);
    void on_link_frame(Instant now, const PauseFrame& frame);
    void apply_storm(Instant now);

    PauseReceiverConfig config_;
    std::uint8_t storm_ = 0;
    std::array<PauseTimer, kPriorities> timers_{};
    std::array<PauseTimer, kPriorities> storm_timers_{};
    PauseTimer link_timer_;
    std::array<PauseHeard, kPriorities> heard_{};
    PauseHeard link_heard_;
    CounterSet<IgnoredPause> ignored_;
};

}  // namespace vroce
