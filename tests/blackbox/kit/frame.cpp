#include "tests/blackbox/kit/frame.hpp"

#include "common/wire/bytes.hpp"
#include "common/wire/ip.hpp"

namespace vroce::blackbox {
namespace {

constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeIpv6 = 0x86dd;
constexpr std::size_t kUdpBytes = 8;

void store_mac(std::uint8_t* at, Mac mac) {
    for (int i = 0; i < 6; ++i) at[i] = static_cast<std::uint8_t>(mac >> (40 - 8 * i));
}

Mac load_mac(const std::uint8_t* at) {
    Mac mac = 0;
    for (int i = 0; i < 6; ++i) mac = mac << 8 | at[i];
    return mac;
}

/// Returns the header's length.
std::size_t write_ip(std::span<std::uint8_t> out, const FrameSpec& spec) {
    const auto traffic_class = static_cast<std::uint8_t>(spec.dscp << 2 | spec.ecn);
    if (spec.v6) {
        Ipv6Header header;
        header.traffic_class = traffic_class;
        header.payload_bytes = static_cast<std::uint16_t>(out.size() - Ipv6Header::kBytes);
        header.next_header = kProtocolUdp;
        header.write(out.first<Ipv6Header::kBytes>());
        return Ipv6Header::kBytes;
    }
    Ipv4Header header;
    header.traffic_class = traffic_class;
    header.total_bytes = static_cast<std::uint16_t>(out.size());
    header.identification = static_cast<std::uint16_t>(spec.number);
    header.protocol = kProtocolUdp;
    header.write(out.first<Ipv4Header::kBytes>());
    return Ipv4Header::kBytes;
}

}  // namespace

Bytes frame(const FrameSpec& spec) {
    Bytes bytes(spec.bytes);
    store_mac(bytes.data(), spec.to);
    store_mac(bytes.data() + 6, spec.from);
    std::size_t at = 12;
    for (const std::uint32_t tag : spec.tags) {
        store_be32(&bytes[at], tag);
        at += 4;
    }
    store_be16(&bytes[at], spec.v6 ? kTypeIpv6 : kTypeIpv4);
    at += 2;
    const std::span<std::uint8_t> ip = std::span(bytes).subspan(at);
    const std::size_t header = write_ip(ip, spec);
    if (ip.size() >= header + kUdpBytes + 4) store_be32(&ip[header + kUdpBytes], spec.number);
    return bytes;
}

FrameView view(const Bytes& bytes) {
    FrameView seen;
    if (bytes.size() < 14) return seen;
    seen.to = load_mac(bytes.data());
    seen.from = load_mac(bytes.data() + 6);
    std::size_t at = 12;
    while (at + 6 <= bytes.size() && (load_be16(&bytes[at]) == 0x8100 || load_be16(&bytes[at]) == 0x88a8)) {
        seen.tags.push_back(load_be32(&bytes[at]));
        at += 4;
    }
    seen.type = load_be16(&bytes[at]);
    const std::span<const std::uint8_t> ip = std::span(bytes).subspan(at + 2);
    std::size_t payload = 0;
    if (seen.type == kTypeIpv4) {
        const auto header = Ipv4Header::parse(ip);
        if (!header) return seen;
        seen.traffic_class = header->traffic_class;
        seen.ttl = header->ttl;
        payload = header->header_bytes + kUdpBytes;
    } else if (seen.type == kTypeIpv6) {
        const auto header = Ipv6Header::parse(ip);
        if (!header) return seen;
        seen.traffic_class = header->traffic_class;
        seen.ttl = header->hop_limit;
        payload = Ipv6Header::kBytes + kUdpBytes;
    }
    if (payload != 0 && ip.size() >= payload + 4) seen.number = load_be32(&ip[payload]);
    return seen;
}

}  // namespace vroce::blackbox
