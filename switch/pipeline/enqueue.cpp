#include "switch/pipeline/enqueue.hpp"

namespace vroce::sw {

namespace {

bool is_full(const PortState& port, std::uint32_t frame_bytes) {
    const Egress& egress = port.tx->egress();
    return egress.backlog_packets() >= port.limit_packets || egress.backlog_bytes() + frame_bytes > port.limit_bytes;
}

}  // namespace

EnqueueExit enqueue_frame(const Departure& departure, PortState& port) {
    const Packet& packet = *departure.packet;
    // What the buffer manager has charged has its limits there; the port's own are for everything else.
    if (packet.meta.charge_holders == 0 && is_full(port, packet.length)) return EnqueueExit::kFull;
    return port.tx->enqueue(departure.packet, departure.packet->meta.queue) ? EnqueueExit::kQueued : EnqueueExit::kFull;
}

void admit_and_enqueue(Departures& departures, BufferManager& buffers, Random& random, std::span<PortState> ports) {
    Admitter admitter(buffers, random);
    departures.filter(ports, [&](const Departure& departure) {
        PortState& port = ports[departure.port()];
        const AdmitExit admitted = admitter.admit(departure, port);
        if (admitted == AdmitExit::kRefusedBefore) {
            release(departure.packet);
            return Verdict::consumed();
        }
        if (admitted != AdmitExit::kAdmitted) return Verdict::drop(reason_of(admitted));
        const std::uint32_t bytes = departure.packet->length;
        if (enqueue_frame(departure, port) == EnqueueExit::kFull) return Verdict::drop(DropReason::kEgressFull);
        port.counters.tx.count(departure.frame->destination, bytes);
        return Verdict::consumed();
    });
}

}  // namespace vroce::sw
