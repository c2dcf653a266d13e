// Pause frames on the wire: what the switch obeys, what it ignores and counts, what its own frames look like. SONiC's
// PFC test plan, snappi's pfc_packet checks and the public faults of others, whose numbers the names carry
// (KnownFailure07: row 7 of the list of what went wrong elsewhere).
#include <gtest/gtest.h>

#include <set>

#include "tests/blackbox/kit/config.hpp"
#include "tests/blackbox/kit/switch_under_test.hpp"

namespace vroce::blackbox {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr unsigned kLossless = 3;
constexpr unsigned kSink = 2;
constexpr unsigned kSource = 0;

PauseFrame pfc(std::uint8_t enabled, std::uint16_t quanta = 0xFFFF) {
    PauseFrame frame{.priority_based = true, .enabled = enabled, .quanta = {}};
    for (std::size_t n = 0; n < 8; ++n)
        if ((enabled >> n & 1) != 0) frame.quanta[n] = quanta;
    return frame;
}

PauseFrame link_pause(std::uint16_t quanta = 0xFFFF) {
    return {.priority_based = false, .enabled = 0, .quanta = {quanta}};
}

/// 802.3x instead of PFC; it stops all priorities, so that all of them need headroom.
void use_link_pause(json& config, const std::string& port) {
    config["PORT"][port]["link_pause"] = "on";
    config["PORT_QOS_MAP"][port] = {{"pfc_enable", ""}};
    for (const char* groups : {"|0-2", "|4-7"}) config["BUFFER_PG"][port + groups] = {{"profile", "lossless"}};
}

/// At 100 Mb/s a pause of 65,535 quanta lasts 335 ms: nothing here needs to be quick.
class Pause : public ::testing::Test {
protected:
    static constexpr milliseconds kLongest{335};

    static SwitchConfig slow() {
        SwitchConfig config;
        config.speed_mbps = "100";
        return config;
    }
    void start(const json& config) { sw_ = std::make_unique<SwitchUnderTest>(config, 3); }
    void start() { start(to_json(slow())); }

    /// Sends one frame of this DSCP to the sink; true when it comes out.
    bool passes(unsigned dscp) {
        const std::size_t before = sw_->frames(kSink).size();
        send_one(dscp);
        return sw_->await_frames(kSink, before + 1);
    }
    /// True when it does not within `time`, which has to be well below the pause's.
    bool waits(unsigned dscp, milliseconds time = milliseconds(40)) {
        const std::size_t before = sw_->frames(kSink).size();
        send_one(dscp);
        sw_->poll_for(time);
        return sw_->frames(kSink).size() == before;
    }
    void send_one(unsigned dscp) {
        sw_->send(kSource, {.to = station(kSink), .from = station(kSource), .dscp = dscp, .bytes = 64});
        sw_->settle();
    }
    json ignored() { return sw_->counters(kSink)["pause"]["ignored"]; }

    std::unique_ptr<SwitchUnderTest> sw_;
};

/// Test 1 and 2 of the PFC test plan; rows 2 and 21.
TEST_F(Pause, KnownFailure02_StopsTheNamedPriorityAndNoOther) {
    start();
    sw_->send_pause(kSink, pfc(1u << kLossless));
    sw_->settle();
    const auto paused_at = steady_clock::now();
    EXPECT_TRUE(waits(kRoceDscp));
    for (unsigned priority : {0u, 1u, 2u, 4u, 5u, 6u, 7u}) EXPECT_TRUE(passes(priority * 8)) << priority;
    ASSERT_TRUE(sw_->await_frames(kSink, 8)) << "after the pause it comes";
    EXPECT_LT(steady_clock::now() - paused_at, std::chrono::seconds(5));
    EXPECT_EQ(sw_->drops(), 0u);
    const std::uint64_t paused_ns = sw_->pause(kSink, kLossless)["rx_paused_ns"];
    EXPECT_EQ(paused_ns / 1'000, 335'539u) << "65,535 quanta of 512 bits at 100 Mb/s: 335.5392 ms";
}

/// A frame that waited has not left before the quanta were over.
TEST_F(Pause, LastsAsLongAsItSaysAndEndsAtOnceWhenToldSo) {
    start();
    const auto paused_at = steady_clock::now();
    sw_->send_pause(kSink, pfc(1u << kLossless));
    sw_->settle();
    sw_->send(kSource, {.to = station(kSink), .dscp = kRoceDscp, .bytes = 64});
    ASSERT_TRUE(sw_->await_frames(kSink, 1));
    EXPECT_GE(steady_clock::now() - paused_at, kLongest) << "a lower bound never flakes";

    sw_->send_pause(kSink, pfc(1u << kLossless));
    sw_->settle();
    EXPECT_TRUE(waits(kRoceDscp, milliseconds(20)));
    sw_->send_pause(kSink, pfc(1u << kLossless, 0));
    ASSERT_TRUE(sw_->await_frames(kSink, 2));
    const std::uint64_t paused_ns = sw_->pause(kSink, kLossless)["rx_paused_ns"];
    EXPECT_LT(paused_ns, 2 * 335'539'200u) << "resumed early";
    EXPECT_EQ(sw_->pause(kSink, kLossless)["rx_resume"], 1);
}

/// Test 3: the number of rows 1 and 22; frames for a priority that is not lossless change nothing.
TEST_F(Pause, KnownFailure01_ForALossyPriorityIsCountedAndIgnored) {
    start();
    for (int i = 0; i < 20; ++i) sw_->send_pause(kSink, pfc(1u << 0));
    sw_->settle();
    EXPECT_TRUE(passes(kBestEffortDscp));
    EXPECT_TRUE(passes(kRoceDscp));
    EXPECT_EQ(sw_->pause(kSink, 0)["rx_pause"], 20);
    EXPECT_EQ(sw_->pause(kSink, 0)["rx_paused_ns"], 0);
    EXPECT_EQ(ignored()["not_obeyed"], 20);
}

TEST_F(Pause, KnownFailure08_OfSourceZeroIsCountedAndObeyed) {
    start();
    sw_->send_pause(kSink, pfc(1u << kLossless), 0);
    sw_->settle();
    EXPECT_TRUE(waits(kRoceDscp));
    EXPECT_EQ(sw_->pause(kSink, kLossless)["rx_pause"], 1);
}

TEST_F(Pause, KnownFailure10_TheCounterIsTheNumberOfFrames) {
    start();
    for (int i = 0; i < 1'234; ++i) sw_->send_pause(kSink, pfc(1u << kLossless, static_cast<std::uint16_t>(i % 2)));
    sw_->settle();
    EXPECT_EQ(sw_->pause(kSink, kLossless)["rx_pause"], 617);
    EXPECT_EQ(sw_->pause(kSink, kLossless)["rx_resume"], 617);
    EXPECT_EQ(sw_->counters(kSink)["rx"]["mac_control"], 1'234);
    EXPECT_EQ(sw_->drops(), 0u) << "MAC control is no drop";
}

/// Test 4: 802.3x on a port of PFC.
TEST_F(Pause, OfAllTrafficIsIgnoredByAPortOfPfc) {
    start();
    sw_->send_pause(kSink, link_pause());
    sw_->settle();
    for (unsigned dscp = 0; dscp < 64; ++dscp) EXPECT_TRUE(passes(dscp)) << "DSCP " << dscp;
    EXPECT_EQ(ignored()["other_kind"], 1);
    for (unsigned p = 0; p < 8; ++p) EXPECT_EQ(sw_->pause(kSink, p)["rx_pause"], 0);
}

TEST_F(Pause, OfAllTrafficIsObeyedByAPortOfLinkPauseAndPfcIsNot) {
    json config = to_json(slow());
    use_link_pause(config, "Ethernet8");
    start(config);
    sw_->send_pause(kSink, pfc(0xFF));
    sw_->settle();
    EXPECT_TRUE(passes(kRoceDscp));
    EXPECT_EQ(ignored()["other_kind"], 1);
    sw_->send_pause(kSink, link_pause());
    sw_->settle();
    for (unsigned dscp : {0u, 26u, 48u}) EXPECT_TRUE(waits(dscp, milliseconds(10)));
    sw_->send_pause(kSink, link_pause(0));
    EXPECT_TRUE(sw_->await_frames(kSink, 4));
}

/// Row 19: with 802.3x, congestion sends 802.3x; row 5: any set of priorities may be lossless.
TEST_F(Pause, KnownFailure19_CongestionBehindAPortOfLinkPauseSendsLinkPause) {
    json config = to_json(slow());
    use_link_pause(config, "Ethernet0");
    start(config);
    sw_->block(kSink, {kLossless});
    sw_->send(kSource, {.to = station(kSink)}, 60);
    ASSERT_TRUE(sw_->await([this] { return !sw_->pauses(kSource).empty(); }));
    const PauseSeen& pause = sw_->pauses(kSource).front();
    EXPECT_FALSE(pause.frame.priority_based);
    EXPECT_EQ(pause.frame.quanta[0], 0xFFFF);
    EXPECT_EQ(sw_->counters(kSource)["pause"]["link"]["tx_xoff"], 1);
}

TEST_F(Pause, KnownFailure05_AnySetOfPrioritiesWorks) {
    json config = to_json(slow());
    config["PORT_QOS_MAP"]["global"] = {{"pfc_enable", "2,3"}};
    for (const char* port : {"Ethernet0", "Ethernet4", "Ethernet8"}) {
        config["BUFFER_PG"].erase(std::string(port) + "|0-2");
        config["BUFFER_PG"][std::string(port) + "|0-1"] = {{"profile", "lossy"}};
        config["BUFFER_PG"][std::string(port) + "|2"] = {{"profile", "lossless"}};
        config["BUFFER_QUEUE"].erase(std::string(port) + "|0-2");
        config["BUFFER_QUEUE"][std::string(port) + "|0-1"] = {{"profile", "egress_lossy"}};
        config["BUFFER_QUEUE"][std::string(port) + "|2"] = {{"profile", "egress_lossless"}};
    }
    start(config);
    sw_->block(kSink, {2, 3});
    for (unsigned dscp : {16u, 26u}) sw_->send(kSource, {.to = station(kSink), .dscp = dscp}, 45);
    sw_->settle();
    for (unsigned priority : {2u, 3u}) EXPECT_EQ(sw_->pause(kSource, priority)["tx_xoff"], 1) << priority;
    EXPECT_EQ(sw_->drops(), 0u);
    sw_->unblock(kSink);
    EXPECT_TRUE(sw_->await_frames(kSink, 90));
}

/// Row 7, and snappi's valid_pfc_frame and valid_src_mac.
TEST_F(Pause, KnownFailure07_FramesOfTheSwitchAreWellFormedAndCarryThePortsAddress) {
    start();
    sw_->block(kSink, {kLossless});
    for (std::size_t source : {0, 1}) sw_->send(source, {.to = station(kSink), .from = station(source)}, 45);
    ASSERT_TRUE(sw_->await([this] { return sw_->pauses(0).size() >= 2 && sw_->pauses(1).size() >= 2; }));
    sw_->unblock(kSink);
    ASSERT_TRUE(sw_->await([this] { return sw_->pauses(0).back().xon(kLossless); }));
    std::set<Mac> sources;
    for (std::size_t source : {0, 1}) {
        for (const PauseSeen& pause : sw_->pauses(source)) {
            EXPECT_EQ(pause.bytes, 60u) << "64 with its FCS";
            EXPECT_EQ(pause.to, 0x0180'c200'0001u);
            EXPECT_TRUE(pause.frame.priority_based);
            EXPECT_EQ(pause.frame.enabled, 1u << kLossless);
            EXPECT_EQ(pause.from, sw_->pauses(source).front().from);
        }
        const Mac from = sw_->pauses(source).front().from;
        EXPECT_NE(from, 0u);
        EXPECT_EQ(from >> 40 & 1, 0u) << "no group address";
        sources.insert(from);
    }
    EXPECT_EQ(sources.size(), 2u) << "each port has its own";
}

/// pfc_asym: a port of asymmetric PFC obeys all priorities and asks for the lossless ones only.
TEST_F(Pause, AnAsymmetricPortObeysAllPriorities) {
    json config = to_json(slow());
    config["PORT"]["Ethernet8"]["pfc_asym"] = "on";
    start(config);
    for (unsigned priority = 0; priority < 8; ++priority) {
        sw_->send_pause(kSink, pfc(static_cast<std::uint8_t>(1u << priority)));
        sw_->settle();
        EXPECT_TRUE(waits(priority * 8, milliseconds(10))) << priority;
        sw_->send_pause(kSink, pfc(static_cast<std::uint8_t>(1u << priority), 0));
        EXPECT_TRUE(sw_->await_frames(kSink, priority + 1)) << priority;
    }
}

/// Row 61: a resume for a priority that nobody paused does nothing.
TEST_F(Pause, KnownFailure61_ResumeOfWhatWasNeverPausedIsNothing) {
    start();
    sw_->send_pause(kSink, pfc(0xFF, 0));
    sw_->settle();
    EXPECT_TRUE(passes(kRoceDscp));
    EXPECT_EQ(sw_->pause(kSink, kLossless)["rx_resume"], 1);
    EXPECT_EQ(sw_->pause(kSink, kLossless)["rx_paused_ns"], 0);
}

TEST_F(Pause, ThatEnablesNothingIsIgnored) {
    start();
    PauseFrame nothing = pfc(0xFF);
    nothing.enabled = 0;
    sw_->send_pause(kSink, nothing);
    // Times of classes that are not enabled stay in the frame.
    Bytes bytes(60);
    const auto whole = build_pause(pfc(0xFF), {2, 0, 0, 0, 0, 1});
    std::copy(whole.begin(), whole.end(), bytes.begin());
    bytes[17] = 0;
    sw_->send_bytes(kSink, bytes);
    sw_->settle();
    EXPECT_TRUE(passes(kRoceDscp));
    EXPECT_EQ(ignored()["empty_vector"], 2);
}

/// The list of malformed frames: none is forwarded, none stops anybody, each is counted.
TEST_F(Pause, MalformedFramesAreCountedAndHarmNobody) {
    start();
    const auto good = build_pause(pfc(0xFF), {2, 0, 0, 0, 0, 1});
    const Bytes whole(good.begin(), good.end());
    const auto with = [&whole](std::initializer_list<std::pair<std::size_t, std::uint8_t>> changes) {
        Bytes bytes = whole;
        for (const auto& [at, value] : changes) bytes[at] = value;
        return bytes;
    };
    const auto first = [&whole](std::size_t count) {
        return Bytes(whole.begin(), whole.begin() + static_cast<long>(count));
    };
    const std::vector<Bytes> malformed{
        with({{14, 0}, {15, 0}}),        // opcode 0000
        with({{14, 0}, {15, 2}}),        // opcode 0002
        with({{14, 0xFF}, {15, 0xFF}}),  // opcode FFFF
        first(14),
        first(15),
        first(16),
        first(17),
        first(18),
        first(33),
    };
    for (const Bytes& bytes : malformed) sw_->send_bytes(kSink, bytes);
    sw_->settle();
    EXPECT_EQ(sw_->counters(kSink)["pause"]["malformed"], malformed.size());
    EXPECT_TRUE(passes(kRoceDscp)) << "none was obeyed";

    Bytes tagged = whole;
    tagged.insert(tagged.begin() + 12, {0x81, 0x00, 0x60, 0x01});
    sw_->send_bytes(kSink, tagged);
    sw_->send_bytes(kSink, with({{0, 2}, {1, 0}, {2, 0}, {3, 0}, {4, 0x10}, {5, 0}}));  // to a station: its DA wins
    sw_->settle();
    EXPECT_EQ(sw_->drops(kSink, "tagged_mac_control"), 1u);
    EXPECT_EQ(sw_->counters(kSink)["pause"]["other_destination"], 1);
    EXPECT_TRUE(passes(kRoceDscp));

    Bytes jumbo = whole;
    jumbo.resize(1'518);
    sw_->send_bytes(kSink, jumbo);
    sw_->settle();
    EXPECT_TRUE(waits(kRoceDscp, milliseconds(10))) << "padding is no fault";
    for (std::size_t port : {0, 1}) EXPECT_TRUE(sw_->frames(port).empty() && sw_->pauses(port).empty());
}

/// 802.3 31B.1 lets a MAC take pause frames by its own address.
TEST_F(Pause, ToThePortsOwnAddressIsObeyed) {
    start();
    sw_->block(kSource, {kLossless});  // makes the sink's port say XOFF: that is how its address is learnt
    sw_->send(kSink, {.to = station(kSource), .from = station(kSink)}, 45);
    ASSERT_TRUE(sw_->await([this] { return !sw_->pauses(kSink).empty(); }));
    const Mac port = sw_->pauses(kSink).front().from;
    const auto frame = build_pause(pfc(1u << kLossless), {2, 0, 0, 0, 0, 1});
    Bytes bytes(frame.begin(), frame.end());
    for (std::size_t i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(port >> (40 - 8 * i));
    sw_->send_bytes(kSink, bytes);
    sw_->settle();
    EXPECT_TRUE(waits(kRoceDscp));
    EXPECT_EQ(sw_->pause(kSink, kLossless)["rx_pause"], 1);
}

/// The same frame without an end must not starve data.
TEST_F(Pause, FloodsOfPauseFramesLeaveTheDataAlone) {
    start(to_json(SwitchConfig{}));
    for (int i = 0; i < 200; ++i) {
        for (int n = 0; n < 100; ++n) sw_->send_pause(kSink, pfc(1u << 0));
        sw_->send(kSource, {.to = station(kSink), .dscp = kRoceDscp});
        sw_->send(kSink, {.to = station(kSource), .from = station(kSink), .dscp = kBestEffortDscp});
    }
    EXPECT_TRUE(sw_->await_frames(kSink, 200));
    EXPECT_TRUE(sw_->await_frames(kSource, 200));
    EXPECT_EQ(sw_->counters(kSink)["rx"]["mac_control"], 20'000);
    EXPECT_EQ(sw_->drops(), 0u);
}

/// Row 23: a port that comes up again forwards by PFC as before; what its old peer had paused is forgotten.
TEST_F(Pause, KnownFailure23_PfcIsThereAgainAfterTheLinkWasDown) {
    start();
    sw_->send_pause(kSink, pfc(1u << kLossless));
    sw_->settle();
    EXPECT_TRUE(waits(kRoceDscp, milliseconds(10)));
    sw_->replug(kSink);
    EXPECT_TRUE(passes(kRoceDscp)) << "who is there now has paused nothing";
    sw_->send_pause(kSink, pfc(1u << kLossless));
    sw_->settle();
    EXPECT_TRUE(waits(kRoceDscp));
    sw_->send_pause(kSink, pfc(1u << kLossless, 0));
    sw_->block(kSink, {kLossless});
    sw_->replug(kSource);
    sw_->send(kSource, {.to = station(kSink)}, 45);
    EXPECT_TRUE(sw_->await([this] { return !sw_->pauses(kSource).empty(); })) << "and it still asks";
}

}  // namespace
}  // namespace vroce::blackbox
