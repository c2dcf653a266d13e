// Pause time: quanta of 512 bit times at the port's nominal speed (802.3 31B.2).
#pragma once

#include <cstdint>

#include "common/base/time.hpp"

namespace vroce {

constexpr std::uint16_t kQuantaMax = 65'535;

/// Picoseconds of a quantum times bits per second. 128 bits: 65,535 of them pass 64.
constexpr unsigned __int128 kQuantumPsBps = 512ull * 1'000'000'000'000ull;

/// speed_bps > 0. Rounded down to the picosecond; exact at 1G to 800G.
constexpr Duration quanta_to_duration(std::uint16_t quanta, std::uint64_t speed_bps) {
    return picoseconds(static_cast<std::int64_t>(quanta * kQuantumPsBps / speed_bps));
}

/// The fewest quanta that last at least `time`, at most kQuantaMax.
constexpr std::uint16_t duration_to_quanta(Duration time, std::uint64_t speed_bps) {
    if (time.ps <= 0) return 0;
    const unsigned __int128 needed = static_cast<unsigned __int128>(time.ps) * speed_bps;
    const unsigned __int128 quanta = (needed + kQuantumPsBps - 1) / kQuantumPsBps;
    return quanta > kQuantaMax ? kQuantaMax : static_cast<std::uint16_t>(quanta);
}

}  // namespace vroce
