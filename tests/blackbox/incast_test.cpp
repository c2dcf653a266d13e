// Many into one over real ports: up to 32 memif ports of one generator (RTE_MAX_ETHPORTS of Debian's DPDK, so that 31
// senders are the most; 32 to one is on the virtual clock, tests/sim), each with a station that paces and obeys pause
// as the NIC does, frames of 64 bytes to jumbo mixed, into one slow port. Nothing of the lossless class is lost and
// pause comes before any loss; the same run without PFC loses. A run in which a ring held frames back (tx_ring_full) is
// void: then not the buffers were tested. It is tried again, and skipped with its reason when the machine lets none
// count.
#include <gtest/gtest.h>

#include <iostream>
#include <thread>

#include "tests/blackbox/kit/config.hpp"
#include "tests/blackbox/kit/switch_under_test.hpp"
#include "tests/kit/station.hpp"

namespace vroce::blackbox {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::Flow;
using test::Station;

constexpr std::uint8_t kLossless = 3;
constexpr int kAttempts = 5;

struct IncastCase {
    std::size_t senders;
    bool slow_receiver;
};

struct Seen {
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    std::uint64_t missing = 0;
    std::uint64_t class_drops = 0;
    std::uint64_t xoff = 0;
    std::uint64_t senders_paused = 0;
    std::uint64_t headroom_bytes_max = 0;
    std::uint64_t headroom_size_bytes = 0;
    std::uint64_t rx_hold_ns = 0;
    std::uint64_t tx_ring_full = 0;
    double paused_ms = 0;

    [[nodiscard]] bool counts() const { return rx_hold_ns == 0 && tx_ring_full == 0; }
};

void print(const char* name, const Seen& seen) {
    std::cout << name << ": " << seen.class_drops << " drops of " << seen.sent << " frames, " << seen.xoff
              << " XOFF, headroom watermark " << seen.headroom_bytes_max << " of " << seen.headroom_size_bytes
              << " bytes, paused " << seen.paused_ms << " ms, rx_hold_ns " << seen.rx_hold_ns << ", tx_ring_full "
              << seen.tx_ring_full << (seen.counts() ? "" : " (void)") << "\n";
}

/// A switch of one slow port and many faster ones, and a station at each.
class Generator {
public:
    Generator(const IncastCase& tested, bool pfc)
        : tested_(tested), sw_(config(tested.senders + 1, pfc), tested.senders + 1) {
        for (std::size_t i = 0; i <= tested.senders; ++i) {
            test::StationConfig station_config;
            station_config.mac = station(i);
            station_config.speed_bps = i == 0 ? kSinkBps : kSenderBps;
            station_config.catch_up = milliseconds_of_line();
            station_config.seed = 100 + i;
            stations_.push_back(std::make_unique<Station>(station_config, sw_.port(i), sw_.pool(), sw_.clock.now()));
        }
    }

    Seen run(milliseconds time) {
        std::vector<std::uint64_t> flows;
        for (std::size_t i = 1; i < stations_.size(); ++i) flows.push_back(stations_[i]->add(into_the_sink()));
        run_for(time);
        for (const auto& station : stations_) station->stop_flows();
        stations_[0]->block(0);
        drain();
        Seen seen;
        for (std::size_t i = 1; i < stations_.size(); ++i) seen.sent += stations_[i]->sent(flows[i - 1]);
        seen.arrived = stations_[0]->arrivals().packets;
        seen.missing = stations_[0]->arrivals().missing;
        for (const auto& station : stations_) seen.tx_ring_full += station->tx().counters().tx_ring_full;
        ask_the_switch(seen);
        return seen;
    }

private:
    static constexpr std::uint64_t kSenderBps = 1'000'000'000;
    static constexpr std::uint64_t kSinkBps = 500'000'000;
    static Duration milliseconds_of_line() { return microseconds(200); }

    static json config(std::size_t ports, bool pfc) {
        SwitchConfig config;
        config.ports = ports;
        config.speed_mbps = "1000";
        config.cell_bytes = 2'048;
        config.reserved_bytes = 0;
        config.threshold_bytes = 100'000;
        config.xoff_bytes = 100'000;  // raised to what the rings need
        config.pool_bytes = ports * 3'200'000;
        json file = to_json(config);
        file["VROCE_QOS"]["switch"]["headroom"] = "raise";
        file["PORT"]["Ethernet0"]["speed"] = "500";
        if (!pfc) {
            file["PORT_QOS_MAP"]["global"] = {{"pfc_enable", ""}};
            file["BUFFER_PROFILE"]["lossless"].erase("xoff");
            file["BUFFER_PROFILE"]["lossless"].erase("xon");
            file["BUFFER_PROFILE"]["lossless"].erase("xon_offset");
        }
        return file;
    }
    static Flow into_the_sink() {
        Flow flow;
        flow.destination = station(0);
        flow.priority = kLossless;
        flow.dscp = kRoceDscp;
        flow.frame_bytes = {64, 65, 128, 594, 1'082, 1'518, 4'096, 9'018};
        return flow;
    }
    void iterate() {
        for (std::size_t i = 0; i < stations_.size(); ++i) {
            stations_[i]->run(sw_.clock.now());
            sw_.port(i).ring_doorbell();
        }
        std::this_thread::yield();
    }
    /// A slow receiver stops its port for 20 of every 50 ms.
    void run_for(milliseconds time) {
        const auto begin = steady_clock::now();
        for (auto now = begin; now < begin + time; now = steady_clock::now()) {
            if (tested_.slow_receiver) {
                const auto phase = std::chrono::duration_cast<milliseconds>(now - begin).count() % 50;
                stations_[0]->block(phase < 20 ? 1u << kLossless : 0);
            }
            iterate();
        }
    }
    /// Until nothing has arrived for a while.
    void drain() {
        std::uint64_t before = 0;
        do {
            before = stations_[0]->arrivals().packets;
            const auto end = steady_clock::now() + milliseconds(200);
            while (steady_clock::now() < end) iterate();
        } while (stations_[0]->arrivals().packets != before);
    }
    void ask_the_switch(Seen& seen) {
        const json ports = sw_.ask("counters")["ports"];
        for (std::size_t i = 0; i < stations_.size(); ++i) {
            const json& port = ports[SwitchUnderTest::name(i)];
            const json& group = port["priority_group"]["3"];
            const json& pause = port["pause"]["priority"]["3"];
            for (const auto& [reason, count] : port["drop"].items()) seen.class_drops += count.get<std::uint64_t>();
            seen.rx_hold_ns += port["rx"]["rx_hold_ns"].get<std::uint64_t>();
            seen.tx_ring_full += port["tx"]["tx_ring_full"].get<std::uint64_t>();
            if (i == 0) continue;
            seen.xoff += pause["tx_xoff"].get<std::uint64_t>();
            seen.senders_paused += pause["tx_xoff"] != 0 ? 1 : 0;
            seen.paused_ms += static_cast<double>(pause["tx_paused_ns"].get<std::uint64_t>()) / 1e6;
            seen.headroom_bytes_max = std::max<std::uint64_t>(seen.headroom_bytes_max, group["headroom_bytes_max"]);
            seen.headroom_size_bytes = group["headroom_size_bytes"];
        }
    }

    IncastCase tested_;
    SwitchUnderTest sw_;
    std::vector<std::unique_ptr<Station>> stations_;
};

class Incast : public ::testing::TestWithParam<IncastCase> {
protected:
    static Seen run(bool pfc) {
        Generator generator(GetParam(), pfc);
        const Seen seen = generator.run(milliseconds(800));
        print(pfc ? "PFC on" : "PFC off", seen);
        return seen;
    }
    /// The first run that counts.
    static std::optional<Seen> run_lossless() {
        for (int attempt = 0; attempt < kAttempts; ++attempt) {
            if (const Seen seen = run(true); seen.counts()) return seen;
        }
        return std::nullopt;
    }
};

TEST_P(Incast, LosesNothingWithPfcAndDoesWithout) {
    const auto with = run_lossless();
    if (!with) GTEST_SKIP() << "no run counted: rings were full (tx_ring_full), this machine is too busy";
    EXPECT_EQ(with->class_drops, 0u);
    EXPECT_EQ(with->arrived, with->sent);
    EXPECT_EQ(with->missing, 0u);
    EXPECT_EQ(with->senders_paused, GetParam().senders) << "pause before loss, to everybody";
    EXPECT_LE(with->headroom_bytes_max, with->headroom_size_bytes);

    // A full ring only makes the senders slower here: what is lost is lost in the switch all the same.
    const Seen without = run(false);
    EXPECT_GT(without.class_drops, 0u);
    EXPECT_EQ(without.sent - without.arrived, without.class_drops) << "each lost frame is counted once";
    EXPECT_EQ(without.xoff, 0u);
}

INSTANTIATE_TEST_SUITE_P(Senders, Incast,
                         ::testing::Values(IncastCase{2, false}, IncastCase{2, true}, IncastCase{8, false},
                                           IncastCase{31, false}),
                         [](const auto& tested) {
                             return std::to_string(tested.param.senders) +
                                    (tested.param.slow_receiver ? "ToOneSlowReceiver" : "ToOne");
                         });

}  // namespace
}  // namespace vroce::blackbox
