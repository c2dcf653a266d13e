// Builds frames for the switch's tests: addresses, any tags, EtherType, a payload that can be recognised.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "common/packet/slab_pool.hpp"
#include "switch/l2/mac.hpp"

namespace vroce::sw::test {

inline constexpr Mac kStationA = 0x0200'0000'000a;
inline constexpr Mac kStationB = 0x0200'0000'000b;
inline constexpr Mac kStationC = 0x0200'0000'000c;

struct FrameSpec {
    Mac destination = kStationB;
    Mac source = kStationA;
    std::vector<std::uint32_t> tags{};  ///< TPID << 16 | TCI each, outermost first
    std::uint16_t type = 0x0800;
    std::size_t payload = 46;
};

constexpr std::uint32_t c_tag(std::uint16_t vid, std::uint16_t pcp = 0, std::uint16_t dei = 0) {
    return 0x8100'0000u | static_cast<std::uint32_t>(pcp << 13 | dei << 12 | vid);
}
constexpr std::uint32_t s_tag(std::uint16_t vid) {
    return 0x88a8'0000u | vid;
}

inline std::vector<std::uint8_t> bytes_of(const FrameSpec& spec) {
    std::vector<std::uint8_t> bytes;
    const auto append = [&bytes](std::uint64_t value, int width) {
        for (int i = width - 1; i >= 0; --i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    };
    append(spec.destination, 6);
    append(spec.source, 6);
    for (const std::uint32_t tag : spec.tags) append(tag, 4);
    append(spec.type, 2);
    for (std::size_t i = 0; i < spec.payload; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 7 + 1));
    return bytes;
}

inline Packet* packet_of(PacketPool& pool, const std::vector<std::uint8_t>& bytes) {
    Packet* packet = pool.alloc();
    packet->resize(static_cast<std::uint32_t>(bytes.size()));
    if (!bytes.empty()) std::memcpy(packet->data, bytes.data(), bytes.size());
    return packet;
}

inline std::vector<std::uint8_t> bytes_of(const Packet& packet) {
    return {packet.data, packet.data + packet.length};
}

}  // namespace vroce::sw::test
