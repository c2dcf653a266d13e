#include "common/counters/loop_counters.hpp"

#include <nlohmann/json.hpp>

namespace vroce {

using nlohmann::json;

json time_histogram_json(const TimeHistogram& histogram) {
    json buckets = json::object();
    for (unsigned b = 0; b < TimeHistogram::kBuckets; ++b) {
        if (histogram.counts[b] == 0) continue;
        buckets["below_" + std::to_string(std::uint64_t{1} << b) + "_ns"] = histogram.counts[b];
    }
    return buckets;
}

json loop_counters_json(const LoopCounters& counters) {
    const auto ns = [](Duration time) { return time.ps / 1'000; };
    return {{"iterations", counters.iterations()},
            {"iteration_max_ns", ns(counters.length_max())},
            {"iteration_length", time_histogram_json(counters.length())},
            {"loop_gaps", counters.gaps()},
            {"loop_gap_ns", ns(counters.gap_time())}};
}

}  // namespace vroce
