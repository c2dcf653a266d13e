// How a message becomes packets: pure arithmetic over length, path MTU and the packet's place (IBTA 9.7.2, C9-24 ff.).
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/transport/types.hpp"
#include "nic/wire/opcode.hpp"

namespace vroce::nic {

/// Of a message, or of a READ's response; a message without bytes is one packet.
constexpr std::uint32_t packet_count(std::uint64_t length, std::uint32_t mtu) {
    return length == 0 ? 1 : static_cast<std::uint32_t>((length + mtu - 1) / mtu);
}
/// Payload bytes in the packets [first, first + count).
constexpr std::uint64_t payload_bytes(std::uint64_t length, std::uint32_t mtu, std::uint32_t first,
                                      std::uint32_t count = 1) {
    const std::uint64_t begin = std::min(length, std::uint64_t{first} * mtu);
    const std::uint64_t end = std::min(length, (std::uint64_t{first} + count) * mtu);
    return end - begin;
}

enum class Position : std::uint8_t { First, Middle, Last, Only };

constexpr Position position(std::uint32_t index, std::uint32_t count) {
    if (count == 1) return Position::Only;
    if (index == 0) return Position::First;
    return index + 1 == count ? Position::Last : Position::Middle;
}

constexpr Opcode request_opcode(WrOpcode wr, Position at) {
    const bool send = wr == WrOpcode::Send || wr == WrOpcode::SendImm;
    const bool imm = wr == WrOpcode::SendImm || wr == WrOpcode::WriteImm;
    if (wr == WrOpcode::Read) return Opcode::ReadRequest;
    switch (at) {
        case Position::First:
            return send ? Opcode::SendFirst : Opcode::WriteFirst;
        case Position::Middle:
            return send ? Opcode::SendMiddle : Opcode::WriteMiddle;
        case Position::Last:
            if (imm) return send ? Opcode::SendLastImm : Opcode::WriteLastImm;
            return send ? Opcode::SendLast : Opcode::WriteLast;
        case Position::Only:
            if (imm) return send ? Opcode::SendOnlyImm : Opcode::WriteOnlyImm;
            return send ? Opcode::SendOnly : Opcode::WriteOnly;
    }
    return Opcode::SendOnly;
}

constexpr Opcode read_response_opcode(Position at) {
    switch (at) {
        case Position::First:
            return Opcode::ReadResponseFirst;
        case Position::Middle:
            return Opcode::ReadResponseMiddle;
        case Position::Last:
            return Opcode::ReadResponseLast;
        case Position::Only:
            return Opcode::ReadResponseOnly;
    }
    return Opcode::ReadResponseOnly;
}

/// What a packet weighs in a window: its payload, and about what its headers cost.
constexpr std::uint64_t kPacketOverheadBytes = 64;
constexpr std::uint64_t window_cost(std::uint64_t length, std::uint32_t mtu, std::uint32_t first,
                                    std::uint32_t count = 1) {
    return payload_bytes(length, mtu, first, count) + count * kPacketOverheadBytes;
}

}  // namespace vroce::nic
