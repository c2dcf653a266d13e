// The responder's checks of an in-order request, each of them pure, in the order of IBTA 9.7.4.1.
#pragma once

#include <cstdint>

#include "nic/transport/qp_env.hpp"
#include "nic/transport/types.hpp"
#include "nic/transport/verdict.hpp"
#include "nic/wire/frame.hpp"

namespace vroce::nic {

enum class Message : std::uint8_t { None, Send, Write };

/// The message that the responder is in the middle of.
struct Assembly {
    Message message = Message::None;
    std::uint64_t received = 0;  ///< bytes landed
    std::uint64_t va = 0;        ///< WRITE: from the RETH of its first packet
    std::uint32_t rkey = 0;
    std::uint32_t length = 0;
};

[[nodiscard]] Verdict check_sequence(const OpcodeInfo& op, Message current);
[[nodiscard]] Verdict check_enabled(const OpcodeInfo& op, std::uint32_t access);
/// Payload of one packet against path MTU and its place in the message.
[[nodiscard]] Verdict check_packet_length(const OpcodeInfo& op, std::size_t payload, std::uint32_t mtu);
/// A WRITE's bytes so far against the length its RETH promised.
[[nodiscard]] Verdict check_write_length(const OpcodeInfo& op, std::uint64_t received, std::size_t payload,
                                         std::uint32_t promised);
[[nodiscard]] Verdict check_receive_length(std::uint64_t received, std::size_t payload, std::uint64_t room);
[[nodiscard]] Verdict check_reth_length(const Reth& reth);
[[nodiscard]] Verdict verdict_of(RemoteAccess access);

/// Does this packet need a receive work request (for SEND, its first one; for WRITE, the one with immediate data)?
[[nodiscard]] bool begins_receive(const OpcodeInfo& op);

}  // namespace vroce::nic
