// A RoCE frame taken apart without copying: envelope (IP/UDP or GRH), BTH, extended headers, payload. Every length is
// checked before a byte is read; nothing here trusts the sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/wire/address.hpp"
#include "nic/wire/headers.hpp"
#include "nic/wire/opcode.hpp"

namespace vroce::nic {

constexpr std::uint16_t kRoceUdpPort = 4791;
constexpr std::uint16_t kRoceV1EtherType = 0x8915;
constexpr std::size_t kIcrcBytes = 4;

enum class Encapsulation : std::uint8_t { V2Ipv4, V2Ipv6, V1 };

enum class FrameVerdict : std::uint8_t {
    Ok,
    Truncated,    ///< shorter than its headers say
    NotRoce,      ///< another protocol, or another UDP port
    BadIpHeader,  ///< options (IHL != 5): the ICRC has no rule for them
    Fragment,
    BadLength,  ///< lengths contradict each other
    ReservedOpcode,
};

struct RoceFrame {
    Encapsulation encapsulation = Encapsulation::V2Ipv4;
    const OpcodeInfo* op = nullptr;
    const std::uint8_t* l3 = nullptr;         ///< IP header or GRH
    const std::uint8_t* transport = nullptr;  ///< BTH
    std::size_t transport_bytes = 0;          ///< BTH .. pad, without ICRC
    Bth bth;
    std::span<const std::uint8_t> payload;  ///< without pad; valid after parse_transport

    [[nodiscard]] Gid source() const;
    [[nodiscard]] Gid destination() const;
    [[nodiscard]] std::uint8_t traffic_class() const;
    [[nodiscard]] std::uint16_t udp_source_port() const;
    [[nodiscard]] std::uint32_t stored_icrc() const { return load_raw32(transport + transport_bytes); }

    // Extended headers; the opcode must have them.
    [[nodiscard]] Reth reth() const { return Reth::load(transport + Bth::kBytes + (op->has(kHasXrceth) ? 4 : 0)); }
    [[nodiscard]] Aeth aeth() const { return Aeth::load(transport + Bth::kBytes); }
    [[nodiscard]] Deth deth() const { return Deth::load(transport + Bth::kBytes); }
    [[nodiscard]] AtomicEth atomic_eth() const { return AtomicEth::load(transport + Bth::kBytes); }
    /// Immediate data and IETH are always the last extended header.
    [[nodiscard]] ImmDt imm() const { return ImmDt::load(last_header()); }
    [[nodiscard]] Ieth ieth() const { return Ieth::load(last_header()); }

private:
    [[nodiscard]] const std::uint8_t* last_header() const { return transport + Bth::kBytes + op->header_bytes - 4; }
};

/// Offset of the IP header or GRH behind Ethernet and any VLAN tags, 0 when the frame is of another protocol.
[[nodiscard]] std::size_t locate_l3(std::span<const std::uint8_t> frame);

/// Envelope and BTH of `bytes`, which begin at the IP header or GRH and may have Ethernet padding behind.
[[nodiscard]] FrameVerdict parse_envelope(std::span<const std::uint8_t> bytes, RoceFrame& frame);
/// Opcode, extended headers and payload; after the ICRC was found good, since a flipped bit can pose as anything.
[[nodiscard]] FrameVerdict parse_transport(RoceFrame& frame);

[[nodiscard]] bool icrc_ok(const RoceFrame& frame);

}  // namespace vroce::nic
