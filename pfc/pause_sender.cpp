#include "pfc/pause_sender.hpp"

#include <algorithm>

namespace vroce {

void PauseSender::set_config(const PauseSenderConfig& config) {
    config_ = config;
    config_.quanta = std::max<std::uint16_t>(config.quanta, 1);
    if (config_.speed_bps == 0) config_.mode = PauseMode::kOff;
    if (config_.mode == PauseMode::kOff) return;
    refresh_after_ = quanta_to_duration(config_.quanta, config_.speed_bps) / 2;
}

void PauseSender::configure(Instant now, const PauseSenderConfig& config) {
    reset(now);
    set_config(config);
}

void PauseSender::reset(Instant now) {
    for (Slot& slot : slots_)
        if (slot.asked) end(now, slot);
}

void PauseSender::set_storm(std::uint8_t priorities) {
    storm_changed_ = storm_changed_ || storm_ != priorities;
    storm_ = priorities;
}

std::optional<PauseFrame> PauseSender::poll(Instant now, std::uint8_t congested) {
    storm_changed_ = false;
    if (config_.mode == PauseMode::kOff) return std::nullopt;
    const unsigned wanted = congested | storm_;
    PauseFrame frame;
    if (config_.mode == PauseMode::kLink) {
        if (!step(now, slots_[kLinkSlot], wanted != 0)) return std::nullopt;
        frame.quanta[0] = slots_[kLinkSlot].asked ? config_.quanta : std::uint16_t{0};
        return frame;
    }
    frame.priority_based = true;
    for (unsigned p = 0; p < kPriorities; ++p) {
        if (!step(now, slots_[p], (wanted & config_.priorities) >> p & 1)) continue;
        frame.enabled = static_cast<std::uint8_t>(frame.enabled | 1u << p);
        frame.quanta[p] = slots_[p].asked ? config_.quanta : std::uint16_t{0};
    }
    if (frame.enabled == 0) return std::nullopt;
    return frame;
}

/// Whether the peer has to be told.
bool PauseSender::step(Instant now, Slot& slot, bool wanted) {
    if (!wanted) {
        if (!slot.asked) return false;
        end(now, slot);
        ++slot.said.xon_frames;
        return true;
    }
    if (slot.asked && now < slot.refresh_at) return false;
    ask(now, slot);
    return true;
}

void PauseSender::ask(Instant now, Slot& slot) {
    ++(slot.asked ? slot.said.refresh_frames : slot.said.xoff_frames);
    if (!slot.asked) slot.since = now;
    slot.asked = true;
    slot.refresh_at = now + refresh_after_;
}

void PauseSender::end(Instant now, Slot& slot) {
    slot.before = total(now, slot);
    slot.asked = false;
}

Duration PauseSender::total(Instant now, const Slot& slot) {
    return slot.asked ? slot.before + (now - slot.since) : slot.before;
}

Instant PauseSender::next_deadline() const {
    if (storm_changed_) return Instant{};
    Instant earliest = kNever;
    for (const Slot& slot : slots_)
        if (slot.asked) earliest = std::min(earliest, slot.refresh_at);
    return earliest;
}

std::uint8_t PauseSender::asked_mask() const {
    if (slots_[kLinkSlot].asked) return 0xFF;
    std::uint8_t mask = 0;
    for (unsigned p = 0; p < kPriorities; ++p)
        if (slots_[p].asked) mask = static_cast<std::uint8_t>(mask | 1u << p);
    return mask;
}

}  // namespace vroce
