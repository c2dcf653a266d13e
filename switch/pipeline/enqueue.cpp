// Hands frames to the egress.
#include "switch/pipeline/enqueue.hpp"

namespace vroce::sw {

EnqueueExit enqueue_frame(const Departure& departure, PortState& port) {
    if (port.tx->egress().backlog_packets() >= port.limit_packets) return EnqueueExit::kFull;
    return port.tx->enqueue(departure.packet, departure.packet->meta.queue) ? EnqueueExit::kQueued : EnqueueExit::kFull;
}

void enqueue(Departures& departures, std::span<PortState> ports) {
    departures.filter(ports, [ports](const Departure& departure) {
        PortState& port = ports[departure.port()];
        const std::uint32_t bytes = departure.packet->length;
        if (enqueue_frame(departure, port) == EnqueueExit::kFull) return Verdict::drop(DropReason::kEgressFull);
        port.counters.tx.count(departure.frame->destination, bytes);
        return Verdict::consumed();
    });
}

}  // namespace vroce::sw
