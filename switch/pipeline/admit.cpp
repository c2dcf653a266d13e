#include "switch/pipeline/admit.hpp"

namespace vroce::sw {
namespace {

/// WRED is for frames that cannot be marked, in queues whose loss is the sender's signal.
bool drops_early(const Packet& packet, const PortState& out, Random& random) {
    const QueueState& queue = out.queues[packet.meta.queue];
    return queue.wred && queue.wred->hits(out.tx->egress().queue_bytes(packet.meta.queue), random);
}

AdmitExit exit_of(Admission admission) {
    switch (admission) {
        case Admission::kAdmitted:
            return AdmitExit::kAdmitted;
        case Admission::kGroupFull:
            return AdmitExit::kGroupFull;
        case Admission::kHeadroomFull:
            return AdmitExit::kHeadroomFull;
        case Admission::kQueueFull:
            break;
    }
    return AdmitExit::kQueueFull;
}

}  // namespace

DropReason reason_of(AdmitExit exit) {
    switch (exit) {
        case AdmitExit::kGroupFull:
            return DropReason::kGroupFull;
        case AdmitExit::kHeadroomFull:
            return DropReason::kHeadroomFull;
        case AdmitExit::kEarlyDrop:
            return DropReason::kWred;
        case AdmitExit::kAdmitted:
        case AdmitExit::kRefusedBefore:
        case AdmitExit::kQueueFull:
            break;
    }
    return DropReason::kQueueFull;
}

AdmitExit Admitter::admit(const Departure& departure, const PortState& out) {
    if (departure.frame != frame_) {
        frame_ = departure.frame;
        first_ = nullptr;
        refused_whole_ = false;
    }
    if (refused_whole_) return AdmitExit::kRefusedBefore;
    Packet& packet = *departure.packet;
    if (drops_early(packet, out, random_)) return AdmitExit::kEarlyDrop;
    const AdmitExit exit = exit_of(first_ == nullptr ? buffers_.admit(packet) : buffers_.admit_copy(packet, *first_));
    if (exit == AdmitExit::kAdmitted && first_ == nullptr) first_ = &packet;
    refused_whole_ = exit == AdmitExit::kGroupFull || exit == AdmitExit::kHeadroomFull;
    return exit;
}

bool Admitter::admit_all(std::span<Packet* const> packets, const PortState& out) {
    return !out.queues[packets.front()->meta.queue].wred && buffers_.admit_all(packets);
}

}  // namespace vroce::sw
