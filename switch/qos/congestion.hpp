// What a queue does about its own length: the curve that marks or drops (RED without averaging, as switch ASICs do it),
// and the mark itself (RFC 3168).
#pragma once

#include <cstdint>

#include "common/base/random.hpp"
#include "common/packet/packet.hpp"

namespace vroce::sw {

/// Probability over the queue's length: 0 up to min, rising to `probability_max` at max, 1 beyond.
class CongestionCurve {
public:
    /// min_bytes <= max_bytes; both below 4 GiB. probability_max: 0 to 1.
    CongestionCurve(std::uint64_t min_bytes, std::uint64_t max_bytes, double probability_max)
        : min_bytes_(min_bytes),
          range_bytes_(max_bytes - min_bytes),
          probability_q32_(static_cast<std::uint64_t>(probability_max * 4'294'967'296.0)) {}

    [[nodiscard]] bool hits(std::uint64_t queue_bytes, Random& random) const {
        if (queue_bytes <= min_bytes_) return false;
        const std::uint64_t above = queue_bytes - min_bytes_;
        if (above > range_bytes_) return true;
        // random < probability * above / range, without the division.
        return (random.next_u64() >> 32) * range_bytes_ < probability_q32_ * above;
    }

private:
    std::uint64_t min_bytes_;
    std::uint64_t range_bytes_;
    std::uint64_t probability_q32_;  ///< in units of 2^-32
};

enum class EcnMark : std::uint8_t {
    kMarked,
    kAlready,  ///< another switch has marked it
    kNotEct,   ///< not IP, or its transport does not know ECN: it goes on as it is
};

/// Sets Congestion Experienced in the IP header at meta.l3_offset, and mends the IPv4 checksum (RFC 1624).
EcnMark mark_congestion(Packet& packet);

}  // namespace vroce::sw
