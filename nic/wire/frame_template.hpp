// The constant front of a connection's frames, built once from its address vector: Ethernet, VLAN tag, IP, UDP. A
// packet costs one copy, two lengths and the IPv4 checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "nic/wire/address.hpp"
#include "nic/wire/frame.hpp"

namespace vroce::nic {

class FrameTemplate {
public:
    FrameTemplate() = default;
    explicit FrameTemplate(const AddressVector& av);

    [[nodiscard]] std::size_t l3_offset() const { return l3_offset_; }
    [[nodiscard]] std::size_t transport_offset() const { return bytes_used_; }  ///< where BTH begins

    /// Writes the front; `transport_bytes` runs from BTH through pad (the ICRC's four bytes are added here).
    void write_front(std::uint8_t* frame, std::size_t transport_bytes) const;
    /// Computes the ICRC of a frame whose front, headers, payload and pad are written, and stores it behind the pad.
    void seal(std::uint8_t* frame, std::size_t transport_bytes) const;

private:
    static constexpr std::size_t kLongest = 18 + 40 + 8;
    std::array<std::uint8_t, kLongest> bytes_{};
    std::uint8_t l3_offset_ = 0;
    std::uint8_t bytes_used_ = 0;
    Encapsulation encapsulation_ = Encapsulation::V2Ipv4;
    std::uint32_t checksum_base_ = 0;  ///< sum of the IPv4 header's words but length and checksum
};

}  // namespace vroce::nic
