// Stage: gives each output port its own packet. The last port gets the frame itself, the others get copies.
#pragma once

#include "switch/core/departures.hpp"
#include "switch/core/frame.hpp"

namespace vroce::sw {

enum class ReplicateExit : std::uint8_t { kComplete, kNoBuffer };

/// Adds one departure for each port of frame.outputs, which is not empty; `drop(port)` names ports that got no copy.
template <typename Drop>
ReplicateExit replicate_frame(const Frame& frame, Departures& departures, Drop drop) {
    ReplicateExit exit = ReplicateExit::kComplete;
    PortSet outputs = frame.outputs;
    while (true) {
        const auto port = static_cast<PortId>(__builtin_ctzll(outputs));
        outputs &= outputs - 1;
        Packet* packet = outputs == 0 ? frame.packet : frame.packet->pool->clone(*frame.packet);
        if (packet == nullptr) {
            exit = ReplicateExit::kNoBuffer;
            drop(port);
            continue;
        }
        packet->meta.out_port = port;
        departures.add(packet, frame);
        if (outputs == 0) return exit;
    }
}

void replicate(Burst& burst, Departures& departures, std::span<PortState> ports);

}  // namespace vroce::sw
