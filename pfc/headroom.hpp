// How much still arrives after a lossless priority group has said XOFF: what its headroom must hold. Term by term, so
// that it can be printed. All in bytes of buffer; settings, not for the fast path.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/base/time.hpp"

namespace vroce {

/// Ethernet header, one VLAN tag and FCS beyond the MTU.
constexpr std::uint32_t kFrameBeyondMtuBytes = 14 + 4 + 4;
/// A pause frame on the line: 64 bytes, preamble, start delimiter and inter-packet gap.
constexpr std::uint32_t kPauseOnLineBytes = 64 + 20;
constexpr std::uint32_t kCablePsPerMeter = 5'000;

struct HeadroomLink {
    std::uint64_t speed_bps = 0;
    std::uint32_t mtu_bytes = 1'500;  ///< of layer 3; the largest frame is kFrameBeyondMtuBytes longer
    std::uint32_t cable_meters = 0;
    /// One way and beyond the cable: transceivers, and how long the peer's or our own worker may be away.
    Duration extra_delay{};
    std::uint32_t ring_slots = 0;         ///< frames that the receive ring holds (memif: 2^rsize)
    std::uint32_t peer_burst_frames = 0;  ///< frames that the peer hands to its ring at once
};

struct Headroom {
    std::uint64_t own_frame_bytes = 0;    ///< arrives while the pause frame waits for a frame of ours to end
    std::uint64_t peer_frame_bytes = 0;   ///< the frame that the peer has begun when it obeys
    std::uint64_t pause_frame_bytes = 0;  ///< arrives while the pause frame is on the line
    std::uint64_t cable_bytes = 0;        ///< on the cable, there and back
    std::uint64_t response_bytes = 0;     ///< arrives while the peer reacts (802.3 31B.3.7)
    std::uint64_t extra_delay_bytes = 0;  ///< arrives in twice the extra delay
    std::uint64_t in_flight_bytes = 0;    ///< W (design D11b): a full receive ring and a burst of the peer

    [[nodiscard]] constexpr std::uint64_t total_bytes() const {
        return own_frame_bytes + peer_frame_bytes + pause_frame_bytes + cable_bytes + response_bytes +
               extra_delay_bytes + in_flight_bytes;
    }
};

/// Rounded up.
constexpr std::uint64_t bytes_in(Duration time, std::uint64_t speed_bps) {
    constexpr unsigned __int128 kPsBitsPerByte = 8'000'000'000'000u;
    const unsigned __int128 product = static_cast<unsigned __int128>(time.ps) * speed_bps;
    return static_cast<std::uint64_t>((product + kPsBitsPerByte - 1) / kPsBitsPerByte);
}

/// Quanta that a station of this speed may take from a pause frame's end to its own silence, as SONiC uses 31B.3.7; a
/// speed between two rows takes the faster one's.
constexpr std::uint32_t response_quanta(std::uint64_t speed_bps) {
    struct Row {
        std::uint64_t gbps;
        std::uint32_t quanta;
    };
    constexpr std::array<Row, 7> kRows{{{1, 2}, {10, 67}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}}};
    for (const Row& row : kRows)
        if (speed_bps <= row.gbps * 1'000'000'000) return row.quanta;
    return 905;
}

constexpr Headroom headroom(const HeadroomLink& link) {
    constexpr std::uint32_t kBytesPerQuantum = 512 / 8;
    const std::uint64_t frame_bytes = std::uint64_t{link.mtu_bytes} + kFrameBeyondMtuBytes;
    Headroom room;
    room.own_frame_bytes = frame_bytes;
    room.peer_frame_bytes = frame_bytes;
    room.pause_frame_bytes = kPauseOnLineBytes;
    room.cable_bytes = bytes_in(picoseconds(std::int64_t{2} * link.cable_meters * kCablePsPerMeter), link.speed_bps);
    room.response_bytes = std::uint64_t{response_quanta(link.speed_bps)} * kBytesPerQuantum;
    room.extra_delay_bytes = bytes_in(link.extra_delay * 2, link.speed_bps);
    room.in_flight_bytes = (std::uint64_t{link.ring_slots} + link.peer_burst_frames) * frame_bytes;
    return room;
}

/// What holds (design D11d): the configured value, raised to what the link needs unless `exact` keeps it.
constexpr std::uint64_t effective_xoff_bytes(std::uint64_t configured_bytes, const Headroom& needed, bool exact) {
    return exact ? configured_bytes : std::max(configured_bytes, needed.total_bytes());
}

}  // namespace vroce
