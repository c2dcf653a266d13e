// Where one context's events go: its async pipe and its completion channels. Its numbers are what DESTROY replies
// promise.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "nic/device/event_sink.hpp"
#include "nic/host/event_pipe.hpp"
#include "nic/host/host_counters.hpp"

namespace vroce::nic {

/// The worker's; the control thread changes it through the worker and may look at it meanwhile, since it is the only
/// one that has it changed.
///
/// Events are told apart by the application's own user handles. One that gives two objects the same handle confuses
/// nobody but itself.
class ContextEvents final : public EventSink {
public:
    ContextEvents(std::unique_ptr<EventPipe> async, HostCounters& counters, std::function<void()> on_held)
        : async_(std::move(async)), counters_(counters), on_held_(std::move(on_held)) {}

    void comp_event(std::uint32_t channel, std::uint64_t cq_user_handle) override;
    void async_event(const vroce_async_event& event) override;

    void add_channel(std::uint32_t channel, std::unique_ptr<EventPipe> pipe) { channels_[channel] = std::move(pipe); }
    std::unique_ptr<EventPipe> remove_channel(std::uint32_t channel);

    /// The object goes: how many records were ever written about it. No more follow.
    std::uint32_t retire_comp(std::uint32_t channel, std::uint64_t cq_user_handle);
    std::uint32_t retire_async(std::uint64_t element) { return async_->retire(element); }

    /// Control thread.
    void for_each_pipe(const std::function<void(EventPipe&)>& visit) const;

private:
    void count(EventFate fate);

    std::unique_ptr<EventPipe> async_;
    std::map<std::uint32_t, std::unique_ptr<EventPipe>> channels_;
    HostCounters& counters_;
    std::function<void()> on_held_;
};

}  // namespace vroce::nic
