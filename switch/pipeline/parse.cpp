// Reads Ethernet headers (802.3 3.1.1) and at most two VLAN tags (802.1Q 9.3).
#include "switch/pipeline/parse.hpp"

#include "switch/core/ethernet.hpp"

namespace vroce::sw {
namespace {

/// The second tag matters only for the size of the header and for what an untagged port would expose.
void parse_inner(Frame& frame) {
    const bool tag = frame.ether_type == kTypeCTag || frame.ether_type == kTypeSTag;
    if (!tag) return;
    frame.inner_tag = frame.tagged;
    if (frame.packet->length >= frame.header_bytes + kTagBytes) {
        frame.header_bytes = static_cast<std::uint8_t>(frame.header_bytes + kTagBytes);
    }
}

void count_received(TrafficCounters& rx, Mac destination, std::uint32_t bytes) {
    ++rx.packets;
    rx.bytes += bytes;
    if (!is_multicast(destination)) {
        ++rx.unicast;
    } else {
        ++(destination == kBroadcast ? rx.broadcast : rx.multicast);
    }
}

}  // namespace

ParseExit parse_frame(Frame& frame) {
    const Packet& packet = *frame.packet;
    if (packet.length < kHeaderBytes) return ParseExit::kTooShort;
    frame.destination = read_destination(packet.data);
    frame.source = read_source(packet.data);
    frame.ether_type = read_be16(packet.data + kTypeOffset);
    if (frame.ether_type == kTypeCTag) {
        if (packet.length < kHeaderBytes + kTagBytes) return ParseExit::kTooShort;
        frame.tagged = true;
        frame.tci = read_be16(packet.data + kTypeOffset + 2);
        frame.ether_type = read_be16(packet.data + kTypeOffset + kTagBytes);
        frame.header_bytes = kHeaderBytes + kTagBytes;
    }
    parse_inner(frame);
    return ParseExit::kParsed;
}

void parse(Burst& burst) {
    const std::span<Frame> frames = burst.frames();
    for (const Frame& frame : frames) __builtin_prefetch(frame.packet->data);
    burst.filter([&burst](Frame& frame) {
        Meta& meta = frame.packet->meta;
        meta = Meta{};
        meta.in_port = burst.in_port();
        meta.time = burst.now();
        const ParseExit exit = parse_frame(frame);
        count_received(burst.counters().rx, frame.destination, frame.packet->length);
        return exit == ParseExit::kParsed ? Verdict::next() : Verdict::drop(DropReason::kTooShort);
    });
}

}  // namespace vroce::sw
