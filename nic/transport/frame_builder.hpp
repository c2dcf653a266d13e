// Makes the frames of one queue pair: front, BTH, room for the extended headers and the payload, pad; then the ICRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/packet/packet.hpp"
#include "nic/transport/qp_context.hpp"
#include "nic/wire/opcode.hpp"
#include "nic/wire/psn.hpp"

namespace vroce::nic {

struct FrameSpec {
    Opcode opcode = Opcode::Acknowledge;
    Psn psn;
    std::size_t payload_bytes = 0;
    bool ack_request = false;
    bool solicited = false;
};

struct Draft {
    Packet* packet = nullptr;          ///< nullptr: the pool is empty (counted)
    std::uint8_t* extended = nullptr;  ///< where the extended headers go
    std::span<std::uint8_t> payload;
};

[[nodiscard]] Draft start_frame(QpContext& qp, const FrameSpec& spec);
void request_ack(QpContext& qp, Packet* packet);
/// Computes the ICRC; everything else of the frame must be in place.
void seal_frame(QpContext& qp, Packet* packet);

}  // namespace vroce::nic
