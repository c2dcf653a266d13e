// Pause time: quanta of 512 bit times at the port's nominal speed (802.3 31B.2).
#pragma once

#include <cstdint>

#include "common/base/time.hpp"

namespace vroce {

constexpr std::uint16_t kQuantaMax = 65'535;

/// speed_bps > 0. Exact to the picosecond at every speed that divides 5.12e14 (1G to 800G all do).
constexpr Duration quanta_to_duration(std::uint16_t quanta, std::uint64_t speed_bps) {
    const std::uint64_t ps = std::uint64_t{quanta} * 512 * 1'000'000 / (speed_bps / 1'000'000);
    return picoseconds(static_cast<std::int64_t>(ps));
}

/// The fewest quanta that last at least `time`, at most kQuantaMax.
constexpr std::uint16_t duration_to_quanta(Duration time, std::uint64_t speed_bps) {
    if (time.ps <= 0) return 0;
    const auto quantum_ps = static_cast<std::uint64_t>(quanta_to_duration(1, speed_bps).ps);
    const std::uint64_t quanta = (static_cast<std::uint64_t>(time.ps) + quantum_ps - 1) / quantum_ps;
    return quanta > kQuantaMax ? kQuantaMax : static_cast<std::uint16_t>(quanta);
}

}  // namespace vroce
