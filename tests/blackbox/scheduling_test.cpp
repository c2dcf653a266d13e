// Who leaves first: SONiC's WRRtest (testQosSaiDwrr) and what it does not ask: strict before weighted, shares by bytes,
// the share of who has nothing, shapers and the port's speed.
#include <gtest/gtest.h>

#include <map>

#include "tests/blackbox/kit/config.hpp"
#include "tests/blackbox/kit/switch_under_test.hpp"

namespace vroce::blackbox {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

constexpr std::size_t kSink = 2;
constexpr std::size_t kSource = 0;
const std::vector<unsigned> kAll{0, 1, 2, 3, 4, 5, 6, 7};

class Scheduling : public ::testing::Test {
protected:
    void start(const SwitchConfig& config = {}) {
        SwitchConfig roomy = config;
        roomy.lossy_queue_bytes = 2'000'000;
        roomy.threshold_bytes = 1'000'000;
        json file = to_json(roomy);
        file["PORT"]["Ethernet8"]["pfc_asym"] = "on";  // all its priorities can be held
        sw_ = std::make_unique<SwitchUnderTest>(file, 3);
    }
    void ets(const json& tsa, const json& bandwidth) {
        sw_->dcb_set(kSink, "ets", {{"tc-tsa", tsa}, {"tc-bw", bandwidth}});
    }
    /// Fills the queues while the sink is blocked, then lets them go; the order of queues in which the frames came.
    std::vector<unsigned> order(const std::map<unsigned, std::size_t>& packets, std::uint32_t bytes = 996) {
        return order_of_sizes(packets, [bytes](unsigned) { return bytes; });
    }
    template <typename F>
    std::vector<unsigned> order_of_sizes(const std::map<unsigned, std::size_t>& packets, F&& bytes_of) {
        sw_->forget();
        sw_->block(kSink, kAll);
        std::size_t total = 0;
        for (const auto& [queue, count] : packets) {
            sw_->send(kSource, {.to = station(kSink), .dscp = queue * 8, .bytes = bytes_of(queue)}, count);
            total += count;
        }
        sw_->settle();
        EXPECT_TRUE(sw_->frames(kSink).empty());
        sw_->unblock(kSink);
        EXPECT_TRUE(sw_->await_frames(kSink, total));
        std::vector<unsigned> queues;
        for (const Bytes& frame : sw_->frames(kSink)) queues.push_back(view(frame).dscp() / 8);
        EXPECT_EQ(queues.size(), total) << "all that went in comes out";
        return queues;
    }
    /// Distance from the end at which each queue's last frame stands.
    static std::map<unsigned, std::size_t> ends(const std::vector<unsigned>& order) {
        std::map<unsigned, std::size_t> from_end;
        for (std::size_t i = 0; i < order.size(); ++i) from_end[order[i]] = order.size() - i;
        return from_end;
    }

    std::unique_ptr<SwitchUnderTest> sw_;
};

TEST_F(Scheduling, ClassesWithPacketsAsTheirWeightsEndTogetherAlsoAfterAChange) {
    start();
    const json ets_of{{"0", 2}, {"1", 2}, {"3", 2}, {"4", 2}};  // 2: ETS
    ets(ets_of, {{"0", 10}, {"1", 20}, {"3", 40}, {"4", 30}});
    for (const auto& [queue, from_end] : ends(order({{0, 50}, {1, 100}, {3, 200}, {4, 150}})))
        EXPECT_LE(from_end, 50u) << "queue " << queue;
    ets(ets_of, {{"0", 40}, {"1", 30}, {"3", 20}, {"4", 10}});
    for (const auto& [queue, from_end] : ends(order({{0, 200}, {1, 150}, {3, 100}, {4, 50}})))
        EXPECT_LE(from_end, 50u) << "queue " << queue << " after the change";
}

/// Shares within 2 % of what was sent, while both have something.
TEST_F(Scheduling, SharesAreOfBytesNotOfFrames) {
    start();
    ets({{"0", 2}, {"3", 2}}, {{"0", 50}, {"3", 50}});
    // Frame and 20 bytes of the line: 64+4+20 = 88 against 1,500+4+20 = 1,524.
    const auto queues =
        order_of_sizes({{0, 2'600}, {3, 150}}, [](unsigned queue) { return queue == 0 ? 64u : 1'500u; });
    std::map<unsigned, std::uint64_t> line_bytes;
    std::map<unsigned, std::size_t> seen;
    for (const unsigned queue : queues) {
        line_bytes[queue] += queue == 0 ? 88 : 1'524;
        if (++seen[queue] == (queue == 0 ? 2'600u : 150u)) break;
    }
    const double share = static_cast<double>(line_bytes[3]) / static_cast<double>(line_bytes[0] + line_bytes[3]);
    EXPECT_NEAR(share, 0.5, 0.02);
}

TEST_F(Scheduling, StrictGoesBeforeWeightedAndTheHigherStrictFirst) {
    start();
    ets({{"0", 2}, {"3", 2}, {"5", 0}, {"6", 0}}, {{"0", 50}, {"3", 50}});
    const auto queues = order({{0, 40}, {3, 40}, {5, 40}, {6, 40}});
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(queues[i], 6u) << i;
    for (std::size_t i = 40; i < 80; ++i) EXPECT_EQ(queues[i], 5u) << i;
}

TEST_F(Scheduling, WhoHasNothingLeavesItsShareToTheOthers) {
    start();
    ets({{"0", 2}, {"1", 2}, {"3", 2}}, {{"0", 10}, {"1", 30}, {"3", 60}});
    for (const auto& [queue, from_end] : ends(order({{0, 50}, {1, 150}}))) EXPECT_LE(from_end, 20u) << queue;
}

TEST_F(Scheduling, APausedClassIsLeftOutAndComesLater) {
    start();
    ets({{"0", 2}, {"3", 2}}, {{"0", 50}, {"3", 50}});
    sw_->block(kSink, kAll);
    for (unsigned dscp : {0u, 24u}) sw_->send(kSource, {.to = station(kSink), .dscp = dscp}, 100);
    sw_->settle();
    sw_->block(kSink, {3});
    ASSERT_TRUE(sw_->await_frames(kSink, 100));
    sw_->drain();
    EXPECT_EQ(sw_->frames(kSink).size(), 100u);
    for (const Bytes& frame : sw_->frames(kSink)) EXPECT_EQ(view(frame).dscp(), 0u);
    sw_->unblock(kSink);
    EXPECT_TRUE(sw_->await_frames(kSink, 200));
}

/// Lower bounds of time: a fast or slow machine changes nothing about them.
TEST_F(Scheduling, AShaperAndThePortsSpeedAreNeverExceeded) {
    SwitchConfig config;
    config.speed_mbps = "100";
    start(config);
    const auto time_of = [this](unsigned dscp, std::size_t count) {
        sw_->forget();
        sw_->block(kSink, kAll);
        sw_->send(kSource, {.to = station(kSink), .dscp = dscp}, count);
        sw_->settle();
        const auto begin = steady_clock::now();
        sw_->unblock(kSink);
        EXPECT_TRUE(sw_->await_frames(kSink, count));
        return std::chrono::duration<double>(steady_clock::now() - begin).count();
    };
    const double on_line_bits = 1'020 * 8;
    // 50 us of credit and what a late worker may catch up on, 1 ms, are the only advances there are.
    EXPECT_GE(time_of(0, 200), 199 * on_line_bits / 100e6 - 0.00105) << "100 Mb/s";
    sw_->dcb_set(kSink, "maxrate", {{"tc-maxrate", {{"0", 20'000'000}}}});
    EXPECT_GE(time_of(0, 50), 45 * on_line_bits / 20e6) << "a queue of 20 Mb/s; its burst is at most a few frames";
}

}  // namespace
}  // namespace vroce::blackbox
