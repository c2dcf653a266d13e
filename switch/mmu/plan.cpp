// Shared room is what a pool has left when everything promised to single groups and queues is taken off.
#include "switch/mmu/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vroce::sw {
namespace {

class Planner {
public:
    Planner(const BufferConfig& config, std::span<const std::string> names, std::span<const std::uint64_t> headroom)
        : config_(config), names_(names), needed_(headroom), promised_(config.pools.size()) {}

    Result<BufferPlan> plan() {
        plan_.limits.cell_bytes = config_.cell_bytes;
        plan_.limits.ports.resize(names_.size());
        for (std::size_t p = 0; p < config_.ports.size(); ++p) {
            for (unsigned g = 0; g < kPriorityGroups; ++g)
                if (const auto profile = config_.ports[p].pg[g]) plan_group(p, g, config_.profiles[*profile]);
            for (unsigned q = 0; q < kQueues; ++q)
                if (const auto profile = config_.ports[p].queue[q]) plan_queue(p, q, config_.profiles[*profile]);
        }
        for (std::size_t i = 0; i < config_.pools.size(); ++i) {
            const BufferPoolConfig& pool = config_.pools[i];
            if (promised_[i] > pool.size_bytes) {
                return Error{
                    fmt::format("BUFFER_POOL|{}: size \"{}\" is less than the {} bytes that its priority groups "
                                "and queues have of their own; allowed: that much or more",
                                pool.name, pool.size_bytes, promised_[i])};
            }
            plan_.limits.pools.push_back({pool.size_bytes - promised_[i], pool.xoff_bytes});
        }
        return std::move(plan_);
    }

private:
    [[nodiscard]] static Threshold threshold(const BufferProfileConfig& profile) {
        Threshold threshold;
        if (profile.dynamic_alpha) threshold.alpha_exponent = *profile.dynamic_alpha;
        threshold.static_bytes = profile.static_bytes.value_or(0);
        return threshold;
    }

    void plan_group(std::size_t port, unsigned group, const BufferProfileConfig& profile) {
        PriorityGroupLimits limits;
        limits.pool = static_cast<std::uint8_t>(profile.pool);
        limits.reserved_bytes = profile.size_bytes;
        limits.shared = threshold(profile);
        if (profile.lossless) limits.headroom_bytes = headroom(port, group, profile);
        limits.xon_bytes = profile.xon_bytes;
        limits.xon_offset_bytes = profile.xon_offset_bytes;
        promised_[profile.pool] += limits.reserved_bytes;
        if (config_.pools[profile.pool].xoff_bytes == 0) promised_[profile.pool] += limits.headroom_bytes;
        plan_.limits.ports[port].groups[group] = limits;
    }

    std::uint64_t headroom(std::size_t port, unsigned group, const BufferProfileConfig& profile) {
        const std::uint64_t needed = std::max<std::uint64_t>(needed_[port], 1);
        if (profile.xoff_bytes == 0) return needed;
        if (profile.xoff_bytes >= needed || config_.headroom_exact) return profile.xoff_bytes;
        plan_.raised.push_back(
            fmt::format("BUFFER_PG|{}|{}: headroom raised from {} to {} bytes, which this port's ring "
                        "and cable can bring after a pause",
                        names_[port], group, profile.xoff_bytes, needed));
        return needed;
    }

    void plan_queue(std::size_t port, unsigned queue, const BufferProfileConfig& profile) {
        plan_.limits.ports[port].queues[queue] =
            QueueLimits{static_cast<std::uint8_t>(profile.pool), profile.size_bytes, threshold(profile)};
        promised_[profile.pool] += profile.size_bytes;
    }

    const BufferConfig& config_;
    std::span<const std::string> names_;
    std::span<const std::uint64_t> needed_;
    std::vector<std::uint64_t> promised_;  ///< of each pool: what single users have of their own
    BufferPlan plan_;
};

}  // namespace

Result<BufferPlan> plan_buffers(const BufferConfig& config, std::span<const std::string> port_names,
                                std::span<const std::uint64_t> headroom_bytes) {
    return Planner(config, port_names, headroom_bytes).plan();
}

}  // namespace vroce::sw
