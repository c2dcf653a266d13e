#include "tests/sim/kit/star.hpp"

#include <gtest/gtest.h>

#include "pfc/headroom.hpp"
#include "switch/mmu/plan.hpp"

namespace vroce::sim {
namespace {

constexpr std::size_t kPoolPackets = 20'000;
constexpr Duration kPerMeter = nanoseconds(5);

}  // namespace

Star::Star(const StarConfig& config) : config_(config), pool_(kPoolPackets, config.mtu_bytes + 64) {
    for (std::size_t i = 0; i < config_.stations; ++i) {
        headroom_.push_back(headroom({.speed_bps = speed(i),
                                      .mtu_bytes = config_.mtu_bytes,
                                      .cable_meters = config_.cable_m,
                                      .extra_delay = Duration{},
                                      .ring_slots = 0,
                                      .peer_burst_frames = 0})
                                .total_bytes());
    }
    node_ = std::make_unique<SwitchNode>(switch_config(), config_.seed);
    world.add(*node_);
    for (std::size_t i = 0; i < config_.stations; ++i) connect(i);
    for (const auto& node : stations_) node->station.announce();
    world.run_for(milliseconds(1));
    world.set_check(check_ledger, this);
}

void Star::connect(std::size_t i) {
    const LinkConfig cable{.speed_bps = speed(i), .delay = kPerMeter * config_.cable_m, .ring_packets = SIZE_MAX};
    links_.push_back(std::make_unique<Link>(world.now(), cable, pool_));
    node_->attach(static_cast<sw::PortId>(i), links_[i]->a(), pool_);
    test::StationConfig station;
    station.mac = mac(i);
    station.speed_bps = speed(i);
    station.obeys = config_.obeys;
    station.seed = config_.seed * 1'000 + i;
    stations_.push_back(std::make_unique<StationNode>(world, station, links_[i]->b(), pool_));
}

std::shared_ptr<sw::SwitchConfig> Star::switch_config() {
    auto config = std::make_shared<sw::SwitchConfig>();
    config->buffers.cell_bytes = config_.cell_bytes;
    sw::BufferPoolConfig pool;
    pool.name = "pool";
    pool.size_bytes = config_.pool_bytes;
    sw::BufferProfileConfig lossless;
    lossless.name = "lossless";
    lossless.dynamic_alpha = config_.alpha;
    lossless.lossless = true;
    lossless.xon_offset_bytes = 3'000;
    sw::BufferProfileConfig lossy;
    lossy.name = "lossy";
    lossy.dynamic_alpha = config_.lossy_alpha;
    sw::BufferProfileConfig queue;
    queue.name = "queue";
    queue.static_bytes = std::uint64_t{1} << 40;  // queues of lossless frames are bounded by their groups
    sw::BufferPoolConfig egress;
    egress.name = "egress";
    egress.size_bytes = std::uint64_t{1} << 40;
    egress.type = sw::BufferPoolType::kEgress;
    queue.pool = 1;
    config->buffers.profiles = {lossless, lossy, queue};
    config->buffers.ports.resize(config_.stations);
    for (std::size_t i = 0; i < config_.stations; ++i) {
        sw::PortConfig port;
        port.name = "Ethernet" + std::to_string(4 * i);
        port.speed_bps = speed(i);
        port.mtu_bytes = config_.mtu_bytes;
        sw::PortQosConfig& qos = port.qos;
        qos.ingress.trust = sw::Trust::kPcp;
        qos.ingress.pcp_to_tc = sw::identity_map<8>();
        qos.queues[kLossless].wred = config_.lossless_wred;
        if (config_.pfc) qos.flow_control.pfc_enable = 1u << kLossless;
        config->ports.push_back(port);
        config->vlans.add_member(1, static_cast<sw::PortId>(i), false);
        sw::PortBufferConfig& buffers = config->buffers.ports[i];
        buffers.pg.fill(1);
        buffers.pg[kLossless] = 0;
        buffers.queue.fill(2);
        if (config_.pfc) pool.size_bytes += headroom_[i];
    }
    config->pfc_in_use = config_.pfc;
    config->buffers.pools = {pool, egress};
    const auto plan = sw::plan_buffers(*config, headroom_);
    if (!plan) ADD_FAILURE() << plan.error();
    if (plan) config->buffer_limits = plan->limits;
    return config;
}

/// The pool holds what the groups hold, and the groups what the queues do: every frame is charged to both.
void Star::check_ledger(void* context) {
    Star& star = *static_cast<Star*>(context);
    const sw::BufferManager& buffers = star.core().buffers();
    std::uint64_t in_groups = 0;
    std::uint64_t shared = 0;
    std::uint64_t headroom = 0;
    std::uint64_t in_queues = 0;
    for (std::size_t p = 0; p < star.config_.stations; ++p) {
        for (unsigned g = 0; g < 8; ++g) {
            const sw::PriorityGroupUse& use = buffers.group(static_cast<sw::PortId>(p), g);
            in_groups += use.bytes();
            shared += use.shared_bytes;
            headroom += use.headroom_bytes;
            in_queues += buffers.queue(static_cast<sw::PortId>(p), g).bytes();
        }
    }
    if (in_groups == in_queues && shared == buffers.pool(0).shared_bytes && headroom == buffers.pool(0).headroom_bytes)
        return;
    ADD_FAILURE() << "ledger: groups " << in_groups << ", queues " << in_queues << ", pool "
                  << buffers.pool(0).shared_bytes << "+" << buffers.pool(0).headroom_bytes << ", its users " << shared
                  << "+" << headroom;
    star.world.set_check(nullptr, nullptr);
}

std::uint64_t Star::drops(sw::DropReason reason) {
    std::uint64_t sum = 0;
    for (std::size_t p = 0; p < config_.stations; ++p)
        sum += core().counters(static_cast<sw::PortId>(p)).drops[sw::index(reason)];
    return sum;
}

std::uint64_t Star::drops() {
    std::uint64_t sum = 0;
    for (std::size_t p = 0; p < config_.stations; ++p) sum += core().counters(static_cast<sw::PortId>(p)).dropped();
    return sum;
}

}  // namespace vroce::sim
