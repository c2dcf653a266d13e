#include "pfc/pause_receiver.hpp"

#include "pfc/quanta.hpp"

namespace vroce {

namespace {
void count(PauseHeard& heard, std::uint16_t quanta) {
    ++(quanta != 0 ? heard.pause_frames : heard.resume_frames);
}
constexpr bool has(std::uint8_t mask, unsigned priority) {
    return (mask >> priority & 1) != 0;
}
}  // namespace

std::string_view label(IgnoredPause reason) {
    static constexpr auto kLabels = make_labels<IgnoredPause>("mode_off", "other_kind", "empty_vector", "not_obeyed");
    return kLabels[static_cast<std::size_t>(reason)];
}

std::uint8_t PauseReceiver::obeyed() const {
    return config_.mode == PauseMode::kPriority && config_.speed_bps != 0 ? config_.priorities : std::uint8_t{0};
}

std::uint8_t PauseReceiver::storm_mask() const {
    if (config_.mode == PauseMode::kLink && storm_ != 0) return 0xFF;
    return storm_ & obeyed();
}

void PauseReceiver::configure(Instant now, const PauseReceiverConfig& config) {
    config_ = config;
    for (unsigned p = 0; p < kPriorities; ++p)
        if (!has(obeyed(), p)) timers_[p].set(now, now);
    if (config_.mode != PauseMode::kLink) link_timer_.set(now, now);
    apply_storm(now);
}

void PauseReceiver::reset(Instant now) {
    for (PauseTimer& timer : timers_) timer.set(now, now);
    link_timer_.set(now, now);
}

void PauseReceiver::set_storm(Instant now, std::uint8_t priorities) {
    storm_ = priorities;
    apply_storm(now);
}

void PauseReceiver::apply_storm(Instant now) {
    for (unsigned p = 0; p < kPriorities; ++p) storm_timers_[p].set(now, has(storm_mask(), p) ? kNever : now);
}

void PauseReceiver::on_frame(Instant now, const PauseFrame& frame) {
    if (frame.priority_based)
        on_priority_frame(now, frame);
    else
        on_link_frame(now, frame);
}

bool PauseReceiver::ignore_kind(const PauseFrame& frame) {
    if (config_.mode == PauseMode::kOff || config_.speed_bps == 0) {
        ignored_.add(IgnoredPause::ModeOff);
        return true;
    }
    if (frame.priority_based == (config_.mode == PauseMode::kPriority)) return false;
    ignored_.add(IgnoredPause::OtherKind);
    return true;
}

void PauseReceiver::on_priority_frame(Instant now, const PauseFrame& frame) {
    for (unsigned p = 0; p < kPriorities; ++p)
        if (has(frame.enabled, p)) count(heard_[p], frame.quanta[p]);
    if (ignore_kind(frame)) return;
    if (frame.enabled == 0) ignored_.add(IgnoredPause::EmptyVector);
    if ((frame.enabled & ~obeyed()) != 0) ignored_.add(IgnoredPause::NotObeyed);
    for (unsigned p = 0; p < kPriorities; ++p)
        if (has(frame.enabled & obeyed(), p))
            timers_[p].set(now, now + quanta_to_duration(frame.quanta[p], config_.speed_bps));
}

void PauseReceiver::on_link_frame(Instant now, const PauseFrame& frame) {
    count(link_heard_, frame.quanta[0]);
    if (ignore_kind(frame)) return;
    link_timer_.set(now, now + quanta_to_duration(frame.quanta[0], config_.speed_bps));
}

std::uint8_t PauseReceiver::paused_mask(Instant now) const {
    if (link_timer_.running(now)) return 0xFF;
    std::uint8_t mask = storm_mask();
    for (unsigned p = 0; p < kPriorities; ++p)
        if (timers_[p].running(now)) mask = static_cast<std::uint8_t>(mask | 1u << p);
    return mask;
}

Instant PauseReceiver::next_deadline(Instant now) const {
    Instant earliest = link_timer_.running(now) ? link_timer_.until() : kNever;
    for (const PauseTimer& timer : timers_)
        if (timer.running(now)) earliest = std::min(earliest, timer.until());
    return earliest;
}

}  // namespace vroce
