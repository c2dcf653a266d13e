#include "switch/io/unprotected_roce.hpp"

#include <fmt/format.h>

namespace vroce::sw {
namespace {

template <std::size_t N>
void list_new(std::string& list, const char* mark, const std::array<std::uint64_t, N>& counted,
              const std::array<std::uint64_t, N>& said) {
    for (std::size_t i = 0; i < N; ++i) {
        if (counted[i] == said[i]) continue;
        list += fmt::format("{}{} {}: {} packets", list.empty() ? "" : ", ", mark, i, counted[i] - said[i]);
    }
}

}  // namespace

std::string UnprotectedRoceNotice::look(std::chrono::steady_clock::time_point now, const std::string& port,
                                        const UnprotectedRoce& counted) {
    if (spoke_ && now - spoke_at_ < kInterval) return {};
    std::string list;
    list_new(list, "DSCP", counted.dscp, said_.dscp);
    list_new(list, "PCP", counted.pcp, said_.pcp);
    if (list.empty()) return {};
    said_ = counted;
    spoke_ = true;
    spoke_at_ = now;
    return fmt::format(
        "{}: RoCE came in a class without PFC, where it may be lost ({}); it must run in a lossless class "
        "(counter roce_in_lossy_class)",
        port, list);
}

}  // namespace vroce::sw
