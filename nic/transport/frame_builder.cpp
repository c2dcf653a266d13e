// Frame building over the queue pair's template.
#include "nic/transport/frame_builder.hpp"

#include <cstring>

namespace vroce::nic {

Draft start_frame(QpContext& qp, const FrameSpec& spec) {
    const OpcodeInfo& op = opcode_info(static_cast<std::uint8_t>(spec.opcode));
    const std::size_t front = qp.frames.transport_offset();
    const auto pad = static_cast<std::uint8_t>(-spec.payload_bytes & 3);
    const std::size_t headers = Bth::kBytes + op.header_bytes;
    const std::size_t transport_bytes = headers + spec.payload_bytes + pad;
    const std::size_t frame_bytes = front + transport_bytes + kIcrcBytes;
    // Callers ask port_carries() before; should one forget, it gets no packet rather than a neighbour's memory.
    Packet* packet = frame_bytes <= qp.core.pool.max_frame_bytes() ? qp.core.pool.alloc() : nullptr;
    if (packet == nullptr) {
        qp.count(EngineCounter::TxNoPacket);
        return {};
    }
    packet->resize(static_cast<std::uint32_t>(frame_bytes));
    packet->meta.l3_offset = static_cast<std::uint16_t>(qp.frames.l3_offset());
    packet->meta.priority = qp.attributes.av.pcp;
    packet->meta.vlan = qp.attributes.av.vlan;

    qp.frames.write_front(packet->data, transport_bytes);
    std::uint8_t* const bth = packet->data + front;
    const Bth fields{.opcode = static_cast<std::uint8_t>(spec.opcode),
                     .solicited = spec.solicited,
                     .pad = pad,
                     .pkey = qp.attributes.pkey,
                     .destination_qpn = qp.attributes.destination_qpn,
                     .ack_request = spec.ack_request,
                     .psn = spec.psn};
    fields.store(bth);
    std::uint8_t* const payload = bth + headers;
    std::memset(payload + spec.payload_bytes, 0, pad);
    return {packet, bth + Bth::kBytes, {payload, spec.payload_bytes}};
}

void request_ack(QpContext& qp, Packet* packet) {
    packet->data[qp.frames.transport_offset() + 8] |= 0x80;
}

void seal_frame(QpContext& qp, Packet* packet) {
    qp.frames.seal(packet->data, packet->length - qp.frames.transport_offset() - kIcrcBytes);
    qp.count(EngineCounter::TxPackets);
    qp.count(EngineCounter::TxBytes, packet->length);
}

}  // namespace vroce::nic
