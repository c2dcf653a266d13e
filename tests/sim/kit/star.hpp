// One switch with a station on each port, and a configuration as an operator would write it: trust PCP, priority 3
// lossless, priority 0 and 1 lossy, all of them accounted.
#pragma once

#include <memory>
#include <vector>

#include "common/packet/slab_pool.hpp"
#include "tests/sim/kit/station_node.hpp"
#include "tests/sim/kit/switch_node.hpp"

namespace vroce::sim {

using test::Arrivals;
using test::Flow;
using test::Mac;
using test::Station;

inline constexpr std::uint8_t kLossless = 3;
inline constexpr std::uint8_t kLossy = 0;

struct StarConfig {
    std::size_t stations = 3;
    std::vector<std::uint64_t> speed_bps{10'000'000'000};  ///< of each station's link, the last one's for the rest
    std::uint32_t mtu_bytes = 9'000;
    std::uint32_t cable_m = 10;
    std::uint64_t pool_bytes = 4'000'000;  ///< without headroom, which is added
    std::int8_t alpha = 0;                 ///< of the lossless group
    std::int8_t lossy_alpha = 0;
    std::uint32_t cell_bytes = 1;  ///< thresholds to the byte
    bool pfc = true;
    bool obeys = true;
    sw::WredConfig lossless_wred{};
    std::uint64_t seed = 1;
};

class Star {
public:
    explicit Star(const StarConfig& config);

    [[nodiscard]] Station& station(std::size_t i) { return stations_[i]->station; }
    [[nodiscard]] Link& link(std::size_t i) { return *links_[i]; }
    [[nodiscard]] sw::Switch& core() { return node_->core; }
    [[nodiscard]] SwitchNode& node() { return *node_; }
    [[nodiscard]] static Mac mac(std::size_t station) { return 0x0200'0000'1000 + station; }
    /// Headroom of a lossless group of this port, bytes.
    [[nodiscard]] std::uint64_t headroom_bytes(std::size_t port) const { return headroom_[port]; }

    /// All drops of the switch for this reason.
    [[nodiscard]] std::uint64_t drops(sw::DropReason reason);
    [[nodiscard]] std::uint64_t drops();
    [[nodiscard]] std::uint64_t xoff_frames(std::size_t port, unsigned priority) {
        return core().flow_control(static_cast<sw::PortId>(port)).sender().said(priority).xoff_frames;
    }

    World world;

private:
    [[nodiscard]] std::uint64_t speed(std::size_t i) const {
        return config_.speed_bps[std::min(i, config_.speed_bps.size() - 1)];
    }
    [[nodiscard]] std::shared_ptr<sw::SwitchConfig> switch_config();
    void connect(std::size_t i);
    static void check_ledger(void* star);

    StarConfig config_;
    std::vector<std::uint64_t> headroom_;
    SlabPool pool_;
    std::unique_ptr<SwitchNode> node_;
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<std::unique_ptr<StationNode>> stations_;
};

}  // namespace vroce::sim
