// Numbers with units as people write them: "10G", "50us", "4MiB". Strict: what is not wholly understood is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace vroce {

/// Bits per second: "10G", "2500M", "100000K" or plain bits; decimal multiples.
Result<std::uint64_t> parse_rate_bps(std::string_view text);
/// "50us", "5ms", "1s", "100ns"; a bare number needs a unit unless it is 0.
Result<Duration> parse_duration(std::string_view text);
/// "4096", "64KiB", "4MiB", "1GiB".
Result<std::uint64_t> parse_bytes(std::string_view text);
Result<std::uint64_t> parse_u64(std::string_view text);
/// A probability 0..1.
Result<double> parse_probability(std::string_view text);

std::string format_rate(std::uint64_t bps);

}  // namespace vroce
