// How an egress queue is served: the settings of one queue.
#pragma once

#include <array>
#include <cstdint>

namespace vroce {

enum class QueueDiscipline : std::uint8_t {
    kStrict,  ///< before every DWRR queue; among strict ones the highest queue first
    kDwrr,    ///< shares what strict queues leave, by weight, in bytes on the line
};

struct QueueSchedule {
    QueueDiscipline discipline = QueueDiscipline::kStrict;
    std::uint8_t weight = 1;             ///< 1..100, DWRR only; what is outside is taken as the nearest
    std::uint64_t max_rate_bps = 0;      ///< bits per second on the line (frame and overhead); 0: not shaped
    std::uint32_t burst_bytes = 16'384;  ///< bucket of the shaper; one frame always fits, whatever its size

    bool operator==(const QueueSchedule&) const = default;
};

constexpr unsigned kEgressQueues = 8;
using PortSchedule = std::array<QueueSchedule, kEgressQueues>;

}  // namespace vroce
