// Shared room is what a pool has left when everything promised to single groups and queues is taken off.
#include "switch/mmu/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vroce::sw {
namespace {

constexpr const char* kDefaultPool = "vroce_default";
constexpr std::uint64_t kDefaultPoolBytesPerPort = std::uint64_t{1} << 20;
constexpr std::uint64_t kDefaultXonOffsetBytes = 4'096;

BufferProfileConfig default_profile(std::uint16_t pool) {
    BufferProfileConfig profile;
    profile.name = "vroce_lossless";
    profile.pool = pool;
    profile.dynamic_alpha = std::int8_t{0};
    profile.lossless = true;
    profile.xon_offset_bytes = kDefaultXonOffsetBytes;
    return profile;
}

class Planner {
public:
    Planner(const SwitchConfig& config, std::span<const std::uint64_t> headroom)
        : ports_(config.ports), config_(config.buffers), needed_(headroom) {
        config_.ports.resize(ports_.size());
        lossless_queues_ = lossless_queues();
        add_defaults();
        promised_.resize(config_.pools.size());
    }

    Result<BufferPlan> plan() {
        plan_.limits.cell_bytes = config_.cell_bytes;
        plan_.limits.ports.resize(ports_.size());
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
            plan_.limits.pools.push_back({pool.size_bytes - promised_[i], pool.xoff_bytes, pool.name});
        }
        return std::move(plan_);
    }

private:
    [[nodiscard]] bool has_flow_control(std::size_t port, unsigned group) const {
        const FlowControlConfig& flow = ports_[port].qos.flow_control;
        return flow.link_pause || flow.lossless(group);
    }

    /// Groups of lossless priorities that have no profile, or a lossy one since flow control came later. With 802.3x
    /// that is the default priority's group, since all others share its fate.
    [[nodiscard]] bool wants_default(std::size_t port, unsigned group) const {
        const PortConfig& config = ports_[port];
        const auto profile = config_.ports[port].pg[group];
        if (profile && config_.profiles[*profile].lossless) return false;
        if (config.qos.flow_control.link_pause)
            return group == config.qos.ingress.tc_to_priority[config.qos.ingress.default_tc];
        return config.qos.flow_control.lossless(group);
    }

    /// Bit q: what some port's flow control protects leaves by queue q.
    [[nodiscard]] std::uint8_t lossless_queues() const {
        unsigned mask = 0;
        for (std::size_t p = 0; p < ports_.size(); ++p) {
            const ClassMaps& maps = ports_[p].qos.ingress;
            for (unsigned tc = 0; tc < kTrafficClasses; ++tc)
                if (has_flow_control(p, maps.tc_to_priority[tc])) mask |= 1U << maps.tc_to_queue[tc];
        }
        return static_cast<std::uint8_t>(mask);
    }

    void add_defaults() {
        std::optional<std::uint16_t> profile;
        for (std::size_t p = 0; p < ports_.size(); ++p) {
            for (unsigned g = 0; g < kPriorityGroups; ++g) {
                if (!wants_default(p, g)) continue;
                if (!profile) profile = add_default_profile();
                const BufferPoolConfig& pool = config_.pools[config_.profiles[*profile].pool];
                if (pool.name == kDefaultPool) grow_default_pool(needed_[p]);
                config_.ports[p].pg[g] = *profile;
            }
        }
    }

    std::uint16_t add_default_profile() {
        const auto pool = std::find_if(config_.pools.begin(), config_.pools.end(),
                                       [](const BufferPoolConfig& p) { return p.type != BufferPoolType::kEgress; });
        const auto index = static_cast<std::uint16_t>(pool - config_.pools.begin());
        if (pool == config_.pools.end()) {
            BufferPoolConfig own;
            own.name = kDefaultPool;
            own.size_bytes = kDefaultPoolBytesPerPort * ports_.size();
            config_.pools.push_back(own);
        }
        config_.profiles.push_back(default_profile(index));
        return static_cast<std::uint16_t>(config_.profiles.size() - 1);
    }

    void grow_default_pool(std::uint64_t bytes) { config_.pools.back().size_bytes += bytes; }

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
        if (profile.lossless && has_flow_control(port, group)) limits.headroom_bytes = headroom(port, group, profile);
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
                        ports_[port].name, group, profile.xoff_bytes, needed));
        return needed;
    }

    void plan_queue(std::size_t port, unsigned queue, const BufferProfileConfig& profile) {
        // A dynamic threshold shrinks with what others use, and would drop what its ingress has paused for.
        if (profile.dynamic_alpha && (lossless_queues_ >> queue & 1) != 0) return;
        plan_.limits.ports[port].queues[queue] =
            QueueLimits{static_cast<std::uint8_t>(profile.pool), profile.size_bytes, threshold(profile)};
        promised_[profile.pool] += profile.size_bytes;
    }

    const std::vector<PortConfig>& ports_;
    BufferConfig config_;
    std::span<const std::uint64_t> needed_;
    std::uint8_t lossless_queues_ = 0;
    std::vector<std::uint64_t> promised_;  ///< of each pool: what single users have of their own
    BufferPlan plan_;
};

}  // namespace

Result<BufferPlan> plan_buffers(const SwitchConfig& config, std::span<const std::uint64_t> headroom_bytes) {
    return Planner(config, headroom_bytes).plan();
}

}  // namespace vroce::sw
