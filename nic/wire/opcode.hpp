// BTH opcodes (IBTA 9.2.1, table 38): one table of operations, from which all 256 byte values are derived.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vroce::nic {

enum class Transport : std::uint8_t { Rc = 0, Uc = 1, Rd = 2, Ud = 3, Cnp = 4, Xrc = 5 };

/// The RC byte values; other transports add Transport << 5.
enum class Opcode : std::uint8_t {
    SendFirst = 0x00,
    SendMiddle = 0x01,
    SendLast = 0x02,
    SendLastImm = 0x03,
    SendOnly = 0x04,
    SendOnlyImm = 0x05,
    WriteFirst = 0x06,
    WriteMiddle = 0x07,
    WriteLast = 0x08,
    WriteLastImm = 0x09,
    WriteOnly = 0x0A,
    WriteOnlyImm = 0x0B,
    ReadRequest = 0x0C,
    ReadResponseFirst = 0x0D,
    ReadResponseMiddle = 0x0E,
    ReadResponseLast = 0x0F,
    ReadResponseOnly = 0x10,
    Acknowledge = 0x11,
    AtomicAcknowledge = 0x12,
    CompareSwap = 0x13,
    FetchAdd = 0x14,
    SendLastInvalidate = 0x16,
    SendOnlyInvalidate = 0x17,
    Flush = 0x1C,
    AtomicWrite = 0x1D,
    Cnp = 0x81,
};

/// What an opcode is and which headers follow its BTH.
enum OpcodeTraits : std::uint32_t {
    kOpSend = 1U << 0,
    kOpWrite = 1U << 1,
    kOpReadRequest = 1U << 2,
    kOpReadResponse = 1U << 3,
    kOpAcknowledge = 1U << 4,
    kOpAtomic = 1U << 5,
    kOpFlush = 1U << 6,
    kOpCnp = 1U << 7,
    kOpRequest = 1U << 8,
    kOpResponse = 1U << 9,
    kOpFirst = 1U << 10,  ///< begins a message of several packets
    kOpMiddle = 1U << 11,
    kOpLast = 1U << 12,
    kOpOnly = 1U << 13,
    kOpPayload = 1U << 14,  ///< may carry payload
    kHasDeth = 1U << 16,
    kHasXrceth = 1U << 17,
    kHasFeth = 1U << 18,
    kHasReth = 1U << 19,
    kHasAtomicEth = 1U << 20,
    kHasAeth = 1U << 21,
    kHasAtomicAckEth = 1U << 22,
    kHasImm = 1U << 23,
    kHasIeth = 1U << 24,
    kHasCnpReserved = 1U << 25,
};

struct OpcodeInfo {
    std::string_view name;          ///< without transport, e.g. "WRITE_FIRST"; empty when reserved
    std::uint32_t traits = 0;       ///< OpcodeTraits
    std::uint8_t header_bytes = 0;  ///< extended headers between BTH and payload
    Transport transport = Transport::Rc;

    [[nodiscard]] constexpr bool valid() const { return !name.empty(); }
    [[nodiscard]] constexpr bool has(std::uint32_t trait) const { return (traits & trait) != 0; }
};

extern const std::array<OpcodeInfo, 256> kOpcodes;
inline const OpcodeInfo& opcode_info(std::uint8_t byte) {
    return kOpcodes[byte];
}

std::string_view name(Transport transport);

}  // namespace vroce::nic
