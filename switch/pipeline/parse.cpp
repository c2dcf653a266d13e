// Reads Ethernet headers (802.3 3.1.1) and at most two VLAN tags (802.1Q 9.3).
#include "switch/pipeline/parse.hpp"

#include "switch/core/ethernet.hpp"

namespace vroce::sw {
namespace {

bool is_tag(std::uint16_t type) {
    return type == kTypeCTag || type == kTypeSTag;
}

/// Tags behind the first matter only for the header's size and for what an untagged port would expose.
void parse_further_tags(Frame& frame) {
    const Packet& packet = *frame.packet;
    std::uint16_t type = frame.ether_type;
    frame.inner_tag = frame.tagged && is_tag(type);
    while (is_tag(type) && frame.header_bytes < kHeaderBytes + kMaxTags * kTagBytes &&
           packet.length >= frame.header_bytes + kTagBytes) {
        type = read_be16(packet.data + frame.header_bytes + 2);
        frame.header_bytes = static_cast<std::uint8_t>(frame.header_bytes + kTagBytes);
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
    if (is_tag(frame.ether_type)) [[unlikely]]
        parse_further_tags(frame);
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
        burst.counters().rx.count(frame.destination, frame.packet->length);
        return exit == ParseExit::kParsed ? Verdict::next() : Verdict::drop(DropReason::kTooShort);
    });
}

}  // namespace vroce::sw
