#include "pfc/flow_control.hpp"

#include <algorithm>

namespace vroce {

void FlowControl::configure(Instant now, const FlowControlSettings& settings) {
    settings_ = settings;
    receiver_.configure(now, {settings.speed_bps, settings.mode, settings.rx_priorities});
    PauseSenderConfig sender;
    sender.speed_bps = settings.speed_bps;
    sender.mode = settings.mode;
    sender.priorities = settings.tx_priorities;
    sender_.configure(now, sender);
}

void FlowControl::reset(Instant now) {
    receiver_.reset(now);
    sender_.reset(now);
}

void FlowControl::receive(Instant now, std::span<const std::uint8_t> frame) {
    const auto pause = parse_pause(frame);
    if (!pause) {
        ++malformed_;
        return;
    }
    if (!is_pause_for(frame, settings_.mac)) {
        ++other_destination_;
        return;
    }
    receiver_.on_frame(now, *pause);
}

std::uint8_t FlowControl::paused_queues(Instant now) const {
    unsigned priorities = receiver_.paused_mask(now);
    if (priorities == 0) [[likely]]
        return 0;
    if (settings_.mode == PauseMode::kLink) return 0xFF;
    unsigned queues = 0;
    for (; priorities != 0; priorities &= priorities - 1)
        queues |= 1u << settings_.priority_to_queue[static_cast<std::size_t>(__builtin_ctz(priorities))];
    return static_cast<std::uint8_t>(queues);
}

std::optional<FlowControl::Frame> FlowControl::poll(Instant now, std::uint8_t congested) {
    const auto pause = sender_.poll(now, congested);
    if (!pause) [[likely]]
        return std::nullopt;
    return build_pause(*pause, settings_.mac);
}

Instant FlowControl::next_deadline(Instant now) const {
    return std::min(receiver_.next_deadline(now), sender_.next_deadline());
}

}  // namespace vroce
