// Checks of DPDK devargs that DPDK itself does not make.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.hpp"

namespace vroce::sw {

/// memif's driver takes its defaults for everything, without a word, when it does not know one key: refused here. Other
/// drivers say so themselves. The error tells what is wrong and what is allowed, not where.
Status check_devargs(const std::string& devargs);

/// Frames that the device's receive ring holds: 256 unless a memif says otherwise (rsize).
std::uint32_t ring_slots(const std::string& devargs);

}  // namespace vroce::sw
