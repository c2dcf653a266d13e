// Buffer admission and WRED. A frame that its priority group refuses has ended once, however many copies it has.
#include "switch/pipeline/admit.hpp"

namespace vroce::sw {
namespace {

/// WRED is for frames that cannot be marked, in queues whose loss is the sender's signal.
bool drops_early(const Packet& packet, const PortState& out, Random& random) {
    const QueueState& queue = out.queues[packet.meta.queue];
    return queue.wred && queue.wred->hits(out.tx->egress().queue_bytes(packet.meta.queue), random);
}

DropReason reason_of(AdmitExit exit) {
    switch (exit) {
        case AdmitExit::kGroupFull:
            return DropReason::kGroupFull;
        case AdmitExit::kHeadroomFull:
            return DropReason::kHeadroomFull;
        case AdmitExit::kEarlyDrop:
            return DropReason::kWred;
        case AdmitExit::kAdmitted:
        case AdmitExit::kQueueFull:
            break;
    }
    return DropReason::kQueueFull;
}

}  // namespace

AdmitExit admit_copy(const Departure& departure, Packet* first, const PortState& out, BufferManager& buffers,
                     Random& random) {
    Packet& packet = *departure.packet;
    if (drops_early(packet, out, random)) return AdmitExit::kEarlyDrop;
    switch (first == nullptr ? buffers.admit(packet) : buffers.admit_copy(packet, *first)) {
        case Admission::kAdmitted:
            break;
        case Admission::kGroupFull:
            return AdmitExit::kGroupFull;
        case Admission::kHeadroomFull:
            return AdmitExit::kHeadroomFull;
        case Admission::kQueueFull:
            return AdmitExit::kQueueFull;
    }
    return AdmitExit::kAdmitted;
}

void admit(Departures& departures, BufferManager& buffers, Random& random, std::span<PortState> ports) {
    const Frame* frame = nullptr;
    Packet* first = nullptr;     // admitted copy of it
    bool refused_whole = false;  // by its priority group
    departures.filter(ports, [&](const Departure& departure) {
        if (departure.frame != frame) {
            frame = departure.frame;
            first = nullptr;
            refused_whole = false;
        }
        if (refused_whole) {
            release(departure.packet);
            return Verdict::consumed();
        }
        const AdmitExit exit = admit_copy(departure, first, ports[departure.port()], buffers, random);
        if (exit == AdmitExit::kAdmitted) {
            if (first == nullptr) first = departure.packet;
            return Verdict::next();
        }
        refused_whole = exit == AdmitExit::kGroupFull || exit == AdmitExit::kHeadroomFull;
        return Verdict::drop(reason_of(exit));
    });
}

}  // namespace vroce::sw
