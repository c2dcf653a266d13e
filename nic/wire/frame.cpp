// Parsing of RoCE v2 over IPv4 and IPv6, and of RoCE v1.
#include "nic/wire/frame.hpp"

#include <algorithm>

#include "nic/wire/icrc.hpp"

namespace vroce::nic {
namespace {

constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kUdpBytes = 8;
constexpr std::uint8_t kProtocolUdp = 17;
constexpr std::uint8_t kNextHeaderIba = 0x1B;

FrameVerdict finish_envelope(std::span<const std::uint8_t> transport, RoceFrame& frame) {
    if (transport.size() < Bth::kBytes + kIcrcBytes) return FrameVerdict::BadLength;
    frame.transport = transport.data();
    frame.transport_bytes = transport.size() - kIcrcBytes;
    frame.bth = Bth::load(frame.transport);
    return FrameVerdict::Ok;
}

FrameVerdict parse_udp(std::span<const std::uint8_t> udp, RoceFrame& frame) {
    if (udp.size() < kUdpBytes) return FrameVerdict::BadLength;
    if (load_be16(&udp[2]) != kRoceUdpPort) return FrameVerdict::NotRoce;
    if (load_be16(&udp[4]) != udp.size()) return FrameVerdict::BadLength;
    return finish_envelope(udp.subspan(kUdpBytes), frame);
}

FrameVerdict parse_ipv4(std::span<const std::uint8_t> bytes, RoceFrame& frame) {
    if (bytes.size() < kIpv4Bytes) return FrameVerdict::Truncated;
    if (bytes[0] != 0x45) return FrameVerdict::BadIpHeader;
    if (bytes[9] != kProtocolUdp) return FrameVerdict::NotRoce;
    if ((load_be16(&bytes[6]) & 0x3FFF) != 0) return FrameVerdict::Fragment;
    const std::size_t total = load_be16(&bytes[2]);
    if (total > bytes.size()) return FrameVerdict::Truncated;
    if (total < kIpv4Bytes) return FrameVerdict::BadLength;
    frame.encapsulation = Encapsulation::V2Ipv4;
    return parse_udp(bytes.subspan(kIpv4Bytes, total - kIpv4Bytes), frame);
}

FrameVerdict parse_ipv6(std::span<const std::uint8_t> bytes, RoceFrame& frame) {
    if (bytes.size() < kIpv6Bytes) return FrameVerdict::Truncated;
    const std::size_t length = load_be16(&bytes[4]);
    if (length > bytes.size() - kIpv6Bytes) return FrameVerdict::Truncated;
    const auto body = bytes.subspan(kIpv6Bytes, length);
    if (bytes[6] == kNextHeaderIba) {
        frame.encapsulation = Encapsulation::V1;
        return finish_envelope(body, frame);
    }
    if (bytes[6] != kProtocolUdp) return FrameVerdict::NotRoce;
    frame.encapsulation = Encapsulation::V2Ipv6;
    return parse_udp(body, frame);
}

Gid gid_of(const RoceFrame& frame, std::size_t ipv4_at, std::size_t ipv6_at) {
    Gid gid;
    if (frame.encapsulation == Encapsulation::V2Ipv4) {
        gid.bytes[10] = gid.bytes[11] = 0xFF;
        std::copy_n(frame.l3 + ipv4_at, 4, gid.bytes.begin() + 12);
    } else {
        std::copy_n(frame.l3 + ipv6_at, 16, gid.bytes.begin());
    }
    return gid;
}

}  // namespace

Gid RoceFrame::source() const {
    return gid_of(*this, 12, 8);
}
Gid RoceFrame::destination() const {
    return gid_of(*this, 16, 24);
}

std::uint8_t RoceFrame::traffic_class() const {
    if (encapsulation == Encapsulation::V2Ipv4) return l3[1];
    return static_cast<std::uint8_t>(load_be16(l3) >> 4);
}

std::uint16_t RoceFrame::udp_source_port() const {
    return encapsulation == Encapsulation::V1 ? std::uint16_t{0} : load_be16(transport - kUdpBytes);
}

std::size_t locate_l3(std::span<const std::uint8_t> frame) {
    std::size_t at = 12;
    while (at + 2 <= frame.size()) {
        const std::uint16_t type = load_be16(&frame[at]);
        if (type == 0x0800 || type == 0x86DD || type == kRoceV1EtherType) return at + 2;
        if (type != 0x8100 && type != 0x88A8) return 0;
        at += 4;
    }
    return 0;
}

FrameVerdict parse_envelope(std::span<const std::uint8_t> bytes, RoceFrame& frame) {
    if (bytes.empty()) return FrameVerdict::Truncated;
    frame.l3 = bytes.data();
    switch (bytes[0] >> 4) {
        case 4:
            return parse_ipv4(bytes, frame);
        case 6:
            return parse_ipv6(bytes, frame);
        default:
            return FrameVerdict::NotRoce;
    }
}

FrameVerdict parse_transport(RoceFrame& frame) {
    frame.op = &opcode_info(frame.bth.opcode);
    if (!frame.op->valid()) return FrameVerdict::ReservedOpcode;
    const std::size_t headers = Bth::kBytes + frame.op->header_bytes;
    if (frame.transport_bytes < headers + frame.bth.pad) return FrameVerdict::BadLength;
    const std::size_t payload = frame.transport_bytes - headers - frame.bth.pad;
    // IBTA C9-7: payload and pad together are whole words, and only what may carry payload has one.
    if ((payload + frame.bth.pad) % 4 != 0) return FrameVerdict::BadLength;
    if (payload + frame.bth.pad != 0 && !frame.op->has(kOpPayload)) return FrameVerdict::BadLength;
    frame.payload = {frame.transport + headers, payload};
    return FrameVerdict::Ok;
}

bool icrc_ok(const RoceFrame& frame) {
    return icrc(frame.encapsulation, frame.l3, frame.transport, frame.transport_bytes) == frame.stored_icrc();
}

}  // namespace vroce::nic
