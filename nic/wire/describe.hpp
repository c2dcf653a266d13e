// One line of text for a frame: for traces, logs, the messages of failing tests, captures and fuzzers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace vroce::nic {

/// Of a whole Ethernet frame, RoCE or not, complete or not. Never fails.
[[nodiscard]] std::string describe(std::span<const std::uint8_t> frame);

}  // namespace vroce::nic
