#include "switch/qos/congestion.hpp"

#include "common/wire/bytes.hpp"
#include "common/wire/checksum.hpp"

namespace vroce::sw {
namespace {

constexpr std::uint16_t kEcnBits = 3;  // 00 not ECT, 11 congestion experienced (RFC 3168 5)

/// Which of the first two bytes of the header hold the ECN bits: IPv4 in the second's low bits, IPv6 four bits up.
constexpr unsigned ecn_shift(std::uint8_t version) {
    return version == 4 ? 0 : 4;
}

}  // namespace

EcnMark mark_congestion(Packet& packet) {
    if (packet.meta.l3_offset == 0) return EcnMark::kNotEct;
    std::uint8_t* ip = packet.data + packet.meta.l3_offset;
    const auto version = static_cast<std::uint8_t>(ip[0] >> 4);
    const auto mask = static_cast<std::uint16_t>(kEcnBits << ecn_shift(version));
    const std::uint16_t word = load_be16(ip);
    if ((word & mask) == 0) return EcnMark::kNotEct;
    if ((word & mask) == mask) return EcnMark::kAlready;
    const auto marked = static_cast<std::uint16_t>(word | mask);
    store_be16(ip, marked);
    if (version == 4) store_be16(ip + 10, update_checksum(load_be16(ip + 10), word, marked));
    return EcnMark::kMarked;
}

}  // namespace vroce::sw
