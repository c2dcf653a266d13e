// Says so when RoCE runs where it may be lost: rarely, and never from the worker.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "switch/core/port_counters.hpp"

namespace vroce::sw {

/// RoCE of one port in classes without PFC, by the mark that put it there.
struct UnprotectedRoce {
    std::array<std::uint64_t, kDscps> dscp{};
    std::array<std::uint64_t, kPcps> pcp{};

    explicit UnprotectedRoce(const PortCounters& counters)
        : dscp(counters.roce_in_lossy_class_dscp), pcp(counters.roce_in_lossy_class_pcp) {}
    UnprotectedRoce() = default;
};

/// Of one port. Control thread.
class UnprotectedRoceNotice {
public:
    static constexpr std::chrono::seconds kInterval{60};

    /// The line to say about what is new since the last one, or "": nothing is, or one was said a short while ago.
    [[nodiscard]] std::string look(std::chrono::steady_clock::time_point now, const std::string& port,
                                   const UnprotectedRoce& counted);

private:
    UnprotectedRoce said_;
    bool spoke_ = false;
    std::chrono::steady_clock::time_point spoke_at_{};
};

}  // namespace vroce::sw
