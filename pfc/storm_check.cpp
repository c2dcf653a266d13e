#include "pfc/storm_check.hpp"

#include <string>

namespace vroce {
namespace {

std::string list_of(std::uint8_t priorities) {
    std::string list;
    for (unsigned p = 0; p < kPriorities; ++p) {
        if ((priorities >> p & 1) != 0) list += (list.empty() ? "" : ",") + std::to_string(p);
    }
    return list;
}

Status check(std::uint8_t wanted, std::uint8_t has_pfc) {
    const auto without = static_cast<std::uint8_t>(wanted & ~has_pfc);
    if (without == 0) return Done{};
    return Error{"pfc-storm " + list_of(wanted) + ": the port has no PFC for priority " + list_of(without) +
                 "; allowed: " + (has_pfc != 0 ? list_of(has_pfc) : "none before PFC is on")};
}

}  // namespace

Status check_storm(const FlowControlSettings& settings, std::uint8_t rx_priorities, std::uint8_t tx_priorities) {
    if (settings.mode == PauseMode::kLink) return Done{};
    const bool pfc = settings.mode == PauseMode::kPriority && settings.speed_bps != 0;
    if (Status rx = check(rx_priorities, pfc ? settings.rx_priorities : std::uint8_t{0}); !rx) return rx;
    return check(tx_priorities, pfc ? settings.tx_priorities : std::uint8_t{0});
}

}  // namespace vroce
