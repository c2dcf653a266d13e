// Frames that have their output port: one entry for each copy of a frame. What the egress half of the pipeline works
// on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "switch/core/frame.hpp"
#include "switch/core/port_state.hpp"

namespace vroce::sw {

/// One copy and the frame it was parsed from. The output port is packet->meta.out_port.
struct Departure {
    Packet* packet = nullptr;
    const Frame* frame = nullptr;

    PortId port() const { return packet->meta.out_port; }
};

/// Room for a burst in which every frame is flooded to every port; allocated once.
class Departures {
public:
    Departures() : list_(kBurst * kMaxPorts) {}

    void clear() { count_ = 0; }
    void add(Packet* packet, const Frame& frame) { list_[count_++] = {packet, &frame}; }
    std::span<Departure> list() { return {list_.data(), count_}; }

    /// Runs a stage's decision on each copy and keeps those that go on, in order.
    template <typename Decide>
    void filter(std::span<PortState> ports, Decide decide) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const Departure departure = list_[i];
            const Verdict verdict = decide(departure);
            if (verdict.outcome == Outcome::kNext) [[likely]] {
                list_[kept++] = departure;
            } else if (verdict.outcome == Outcome::kDrop) {
                drop(departure, verdict.reason, ports);
            }
        }
        count_ = kept;
    }
    /// Counts it on the port that the reason names, and releases it.
    static void drop(const Departure& departure, DropReason reason, std::span<PortState> ports) {
        const Meta& meta = departure.packet->meta;
        if (counted_at_ingress(reason)) {
            ports[meta.in_port].counters.drop_in_group(reason, meta.priority);
        } else {
            ports[meta.out_port].counters.drop_in_queue(reason, meta.queue);
        }
        release(departure.packet);
    }

private:
    std::vector<Departure> list_;
    std::size_t count_ = 0;
};

}  // namespace vroce::sw
