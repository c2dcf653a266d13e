#include "nic/host/context_events.hpp"

#include <span>

namespace vroce::nic {

void ContextEvents::comp_event(std::uint32_t channel, std::uint64_t cq_user_handle) {
    const auto pipe = channels_.find(channel);
    if (pipe == channels_.end()) return count(EventFate::NoReader);
    count(pipe->second->write(cq_user_handle, 0, std::as_bytes(std::span(&cq_user_handle, 1))));
}

void ContextEvents::async_event(const vroce_async_event& event) {
    count(async_->write(event.element, event.event_type, std::as_bytes(std::span(&event, 1))));
}

void ContextEvents::count(EventFate fate) {
    switch (fate) {
        case EventFate::Written:
            return counters_.add(HostCounter::EventsWritten);
        case EventFate::Held:
            counters_.add(HostCounter::EventsHeld);
            return on_held_();
        case EventFate::Merged:
            return counters_.add(HostCounter::EventsMerged);
        case EventFate::NoReader:
            return counters_.add(HostCounter::EventsNoReader);
    }
}

std::unique_ptr<EventPipe> ContextEvents::remove_channel(std::uint32_t channel) {
    auto pipe = channels_.extract(channel);
    return pipe.empty() ? nullptr : std::move(pipe.mapped());
}

std::uint32_t ContextEvents::retire_comp(std::uint32_t channel, std::uint64_t cq_user_handle) {
    const auto pipe = channels_.find(channel);
    return pipe == channels_.end() ? 0 : pipe->second->retire(cq_user_handle);
}

void ContextEvents::for_each_pipe(const std::function<void(EventPipe&)>& visit) const {
    visit(*async_);
    for (const auto& [id, pipe] : channels_) visit(*pipe);
}

}  // namespace vroce::nic
