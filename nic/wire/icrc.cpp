// ICRC: the headers are copied once, what may change on the way is set to ones in the copy, and the payload is chained.
#include "nic/wire/icrc.hpp"

#include <isa-l/crc.h>

#include <array>
#include <cstring>

#include "nic/wire/frame.hpp"

namespace vroce::nic {
namespace {

constexpr std::size_t kLinkHeaderBytes = 8;  // ones in place of the LRH that RoCE does not have
constexpr std::size_t kLongestMasked = kLinkHeaderBytes + 40 + 8 + Bth::kBytes;

void mask_ipv4(std::uint8_t* ip) {
    ip[1] = 0xFF;            // DSCP and ECN
    ip[8] = 0xFF;            // TTL
    ip[10] = ip[11] = 0xFF;  // header checksum
}

void mask_ipv6(std::uint8_t* ip) {
    ip[0] |= 0x0F;  // traffic class, upper half
    ip[1] = ip[2] = ip[3] = 0xFF;
    ip[7] = 0xFF;  // hop limit
}

}  // namespace

std::uint32_t icrc(Encapsulation encapsulation, const std::uint8_t* l3, const std::uint8_t* transport,
                   std::size_t transport_bytes) {
    std::array<std::uint8_t, kLongestMasked> masked;
    const auto outer = static_cast<std::size_t>(transport - l3);
    std::uint8_t* const copy = masked.data() + kLinkHeaderBytes;
    std::memset(masked.data(), 0xFF, kLinkHeaderBytes);
    std::memcpy(copy, l3, outer + Bth::kBytes);
    if (encapsulation == Encapsulation::V2Ipv4)
        mask_ipv4(copy);
    else
        mask_ipv6(copy);
    std::uint8_t* const bth = copy + outer;
    if (encapsulation != Encapsulation::V1) bth[-2] = bth[-1] = 0xFF;  // UDP checksum
    bth[4] = 0xFF;                                                     // FECN, BECN, reserved

    const std::uint32_t head = crc32_gzip_refl(0, masked.data(), kLinkHeaderBytes + outer + Bth::kBytes);
    return crc32_gzip_refl(head, transport + Bth::kBytes, transport_bytes - Bth::kBytes);
}

}  // namespace vroce::nic
