#include "switch/pipeline/enqueue.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace vroce::sw {

namespace {

bool is_full(const PortState& port, std::uint32_t frame_bytes) {
    const Egress& egress = port.tx->egress();
    return egress.backlog_packets() >= port.limit_packets || egress.backlog_bytes() + frame_bytes > port.limit_bytes;
}

void enqueue_admitted(const Departure& departure, std::span<PortState> ports) {
    PortState& port = ports[departure.port()];
    const std::uint32_t bytes = departure.packet->length;
    if (enqueue_frame(departure, port) == EnqueueExit::kFull)
        return Departures::drop(departure, DropReason::kEgressFull, ports);
    port.counters.tx.count(departure.frame->destination, bytes);
}

void admit_and_enqueue_one(const Departure& departure, Admitter& admitter, std::span<PortState> ports) {
    const AdmitExit exit = admitter.admit(departure, ports[departure.port()]);
    if (exit == AdmitExit::kAdmitted) return enqueue_admitted(departure, ports);
    if (exit == AdmitExit::kRefusedBefore) return release(departure.packet);
    Departures::drop(departure, reason_of(exit), ports);
}

/// False when they are to be admitted one by one.
bool admit_and_enqueue_all(std::span<const Departure> alike, Admitter& admitter, PortState& out) {
    std::array<Packet*, kBurst> list;
    std::ranges::transform(alike, list.begin(), &Departure::packet);
    const std::span<Packet* const> packets{list.data(), alike.size()};
    if (packets.size() == 1 || !admitter.admit_all(packets, out)) return false;
    for (const Departure& departure : alike)
        out.counters.tx.count(departure.frame->destination, departure.packet->length);
    // The queues take all that is charged: they have no limit of their own (Switch::attach).
    return out.tx->enqueue(packets, packets.front()->meta.queue);
}

bool is_single(const Departure& departure) {
    return std::has_single_bit(departure.frame->outputs);
}

/// How many at the front are single copies that come by the same priority group and leave by the same queue; at
/// least 1.
std::size_t alike_at_front(std::span<const Departure> departures) {
    const auto goes_elsewhere = [&first = departures.front().packet->meta](const Departure& departure) {
        const Meta& meta = departure.packet->meta;
        return meta.out_port != first.out_port || meta.queue != first.queue || meta.priority != first.priority ||
               !is_single(departure);
    };
    if (!is_single(departures.front())) return 1;
    return static_cast<std::size_t>(std::ranges::find_if(departures, goes_elsewhere) - departures.begin());
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
    for (std::span<const Departure> rest = departures.list(); !rest.empty();) {
        const std::span<const Departure> alike = rest.first(alike_at_front(rest));
        rest = rest.subspan(alike.size());
        if (admit_and_enqueue_all(alike, admitter, ports[alike.front().port()])) continue;
        for (const Departure& departure : alike) admit_and_enqueue_one(departure, admitter, ports);
    }
    departures.clear();
}

}  // namespace vroce::sw
