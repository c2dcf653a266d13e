// The opcode table and what is derived from it.
#include "nic/wire/opcode.hpp"

namespace vroce::nic {
namespace {

constexpr std::uint8_t bit(Transport transport) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(transport));
}
constexpr std::uint8_t kRc = bit(Transport::Rc);
constexpr std::uint8_t kUc = bit(Transport::Uc);
constexpr std::uint8_t kUd = bit(Transport::Ud);
constexpr std::uint8_t kXrc = bit(Transport::Xrc);

struct Operation {
    Opcode op;
    std::string_view name;
    std::uint8_t transports;
    std::uint32_t traits;
};

constexpr std::uint32_t kSendTraits = kOpSend | kOpRequest | kOpPayload;
constexpr std::uint32_t kWriteTraits = kOpWrite | kOpRequest | kOpPayload;
constexpr std::uint32_t kReadTraits = kOpReadResponse | kOpResponse | kOpPayload;

// IBTA table 38 for the transports that RoCE carries. RD (0x40..0x5F) is not: its opcodes stay reserved.
constexpr Operation kOperations[] = {
    {Opcode::SendFirst, "SEND_FIRST", kRc | kUc | kXrc, kSendTraits | kOpFirst},
    {Opcode::SendMiddle, "SEND_MIDDLE", kRc | kUc | kXrc, kSendTraits | kOpMiddle},
    {Opcode::SendLast, "SEND_LAST", kRc | kUc | kXrc, kSendTraits | kOpLast},
    {Opcode::SendLastImm, "SEND_LAST_IMM", kRc | kUc | kXrc, kSendTraits | kOpLast | kHasImm},
    {Opcode::SendOnly, "SEND_ONLY", kRc | kUc | kUd | kXrc, kSendTraits | kOpOnly},
    {Opcode::SendOnlyImm, "SEND_ONLY_IMM", kRc | kUc | kUd | kXrc, kSendTraits | kOpOnly | kHasImm},
    {Opcode::WriteFirst, "WRITE_FIRST", kRc | kUc | kXrc, kWriteTraits | kOpFirst | kHasReth},
    {Opcode::WriteMiddle, "WRITE_MIDDLE", kRc | kUc | kXrc, kWriteTraits | kOpMiddle},
    {Opcode::WriteLast, "WRITE_LAST", kRc | kUc | kXrc, kWriteTraits | kOpLast},
    {Opcode::WriteLastImm, "WRITE_LAST_IMM", kRc | kUc | kXrc, kWriteTraits | kOpLast | kHasImm},
    {Opcode::WriteOnly, "WRITE_ONLY", kRc | kUc | kXrc, kWriteTraits | kOpOnly | kHasReth},
    {Opcode::WriteOnlyImm, "WRITE_ONLY_IMM", kRc | kUc | kXrc, kWriteTraits | kOpOnly | kHasReth | kHasImm},
    {Opcode::ReadRequest, "READ_REQUEST", kRc | kXrc, kOpReadRequest | kOpRequest | kHasReth},
    {Opcode::ReadResponseFirst, "READ_RESPONSE_FIRST", kRc | kXrc, kReadTraits | kOpFirst | kHasAeth},
    {Opcode::ReadResponseMiddle, "READ_RESPONSE_MIDDLE", kRc | kXrc, kReadTraits | kOpMiddle},
    {Opcode::ReadResponseLast, "READ_RESPONSE_LAST", kRc | kXrc, kReadTraits | kOpLast | kHasAeth},
    {Opcode::ReadResponseOnly, "READ_RESPONSE_ONLY", kRc | kXrc, kReadTraits | kOpOnly | kHasAeth},
    {Opcode::Acknowledge, "ACKNOWLEDGE", kRc | kXrc, kOpAcknowledge | kOpResponse | kHasAeth},
    {Opcode::AtomicAcknowledge, "ATOMIC_ACKNOWLEDGE", kRc | kXrc,
     kOpAcknowledge | kOpAtomic | kOpResponse | kHasAeth | kHasAtomicAckEth},
    {Opcode::CompareSwap, "COMPARE_SWAP", kRc | kXrc, kOpAtomic | kOpRequest | kHasAtomicEth},
    {Opcode::FetchAdd, "FETCH_ADD", kRc | kXrc, kOpAtomic | kOpRequest | kHasAtomicEth},
    {Opcode::SendLastInvalidate, "SEND_LAST_INVALIDATE", kRc | kXrc, kSendTraits | kOpLast | kHasIeth},
    {Opcode::SendOnlyInvalidate, "SEND_ONLY_INVALIDATE", kRc | kXrc, kSendTraits | kOpOnly | kHasIeth},
    {Opcode::Flush, "FLUSH", kRc, kOpFlush | kOpRequest | kHasFeth | kHasReth},
    {Opcode::AtomicWrite, "ATOMIC_WRITE", kRc, kOpAtomic | kOpRequest | kOpPayload | kHasReth},
};

struct HeaderSize {
    std::uint32_t trait;
    std::uint8_t bytes;
};
constexpr HeaderSize kHeaderSizes[] = {
    {kHasDeth, 8}, {kHasXrceth, 4},       {kHasFeth, 4}, {kHasReth, 16}, {kHasAtomicEth, 28},
    {kHasAeth, 4}, {kHasAtomicAckEth, 8}, {kHasImm, 4},  {kHasIeth, 4},  {kHasCnpReserved, 16},
};

constexpr std::uint8_t header_bytes(std::uint32_t traits) {
    std::uint8_t sum = 0;
    for (const HeaderSize& header : kHeaderSizes)
        if ((traits & header.trait) != 0) sum = static_cast<std::uint8_t>(sum + header.bytes);
    return sum;
}

/// Headers that the transport adds to each of its requests.
constexpr std::uint32_t transport_headers(Transport transport, std::uint32_t traits) {
    if (transport == Transport::Ud) return kHasDeth;
    if (transport == Transport::Xrc && (traits & kOpRequest) != 0) return kHasXrceth;
    return 0;
}

constexpr std::array<OpcodeInfo, 256> derive() {
    std::array<OpcodeInfo, 256> table{};
    for (std::size_t byte = 0; byte < table.size(); ++byte) table[byte].transport = static_cast<Transport>(byte >> 5);
    for (const Transport transport : {Transport::Rc, Transport::Uc, Transport::Ud, Transport::Xrc})
        for (const Operation& operation : kOperations) {
            if ((operation.transports & bit(transport)) == 0) continue;
            const std::uint32_t traits = operation.traits | transport_headers(transport, operation.traits);
            const auto byte = static_cast<std::size_t>(transport) << 5 | static_cast<std::size_t>(operation.op);
            table[byte] = {operation.name, traits, header_bytes(traits), transport};
        }
    // Annex A17.9.3: a congestion notification is one whole byte value, not a transport's operation.
    table[static_cast<std::size_t>(Opcode::Cnp)] = {"CNP", kOpCnp | kHasCnpReserved, header_bytes(kHasCnpReserved),
                                                    Transport::Cnp};
    return table;
}

}  // namespace

constinit const std::array<OpcodeInfo, 256> kOpcodes = derive();

std::string_view name(Transport transport) {
    switch (transport) {
        case Transport::Rc:
            return "RC";
        case Transport::Uc:
            return "UC";
        case Transport::Rd:
            return "RD";
        case Transport::Ud:
            return "UD";
        case Transport::Cnp:
            return "CN";
        case Transport::Xrc:
            return "XRC";
    }
    return "?";
}

}  // namespace vroce::nic
