// What the stages of the pipeline share: a burst of frames from one port, each with what has been read of it so far.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/packet/packet.hpp"
#include "switch/core/drop_reason.hpp"
#include "switch/core/limits.hpp"
#include "switch/core/port_counters.hpp"
#include "switch/l2/mac.hpp"

namespace vroce::sw {

/// One frame on its way through the pipeline. Its VLAN, queue and charge live in packet->meta, which outlasts it.
struct Frame {
    Packet* packet = nullptr;
    Mac destination = 0;
    Mac source = 0;
    PortSet outputs = 0;             ///< by lookup: the ports it goes to
    std::uint16_t ether_type = 0;    ///< behind the outer C-tag, if it has one
    std::uint16_t tci = 0;           ///< PCP, DEI and VID of the outer C-tag
    std::uint8_t header_bytes = 14;  ///< addresses, all tags (at most two) and EtherType
    bool tagged = false;             ///< has an outer C-tag (8100)
    bool inner_tag = false;          ///< the C-tag has another one behind it
};

/// How a stage ends for one frame.
enum class Outcome : std::uint8_t { kNext, kDrop, kConsumed };
struct Verdict {
    Outcome outcome = Outcome::kNext;
    DropReason reason{};  // when kDrop

    static constexpr Verdict next() { return {}; }
    static constexpr Verdict drop(DropReason reason) { return {Outcome::kDrop, reason}; }
    static constexpr Verdict consumed() { return {Outcome::kConsumed, {}}; }
};

/// At most kBurst frames that one port received together. Frames that a stage ends are released here and nowhere else.
class Burst {
public:
    Burst(Instant now, PortId in_port, PortCounters& counters, std::span<Packet* const> packets)
        : now_(now), in_port_(in_port), counters_(counters), count_(packets.size()) {
        for (std::size_t i = 0; i < count_; ++i) frames_[i].packet = packets[i];
    }

    Instant now() const { return now_; }
    PortId in_port() const { return in_port_; }
    PortCounters& counters() { return counters_; }
    std::span<Frame> frames() { return {frames_.data(), count_}; }

    /// Runs a stage's decision on each frame and keeps those that go on, in order.
    template <typename Decide>
    void filter(Decide decide) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const Verdict verdict = decide(frames_[i]);
            if (verdict.outcome == Outcome::kNext) [[likely]] {
                if (kept != i) frames_[kept] = frames_[i];
                ++kept;
                continue;
            }
            if (verdict.outcome == Outcome::kDrop) counters_.drop(verdict.reason);
            release(frames_[i].packet);
        }
        count_ = kept;
    }

private:
    Instant now_;
    PortId in_port_;
    PortCounters& counters_;
    std::size_t count_;
    std::array<Frame, kBurst> frames_;
};

}  // namespace vroce::sw
