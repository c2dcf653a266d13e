// Which class a frame is in, what marks it leaves with, and which VLAN it belongs to: SONiC's DscpMappingPB,
// Dot1pToQueueMapping, DscpToPgMapping, Dot1pToPgMapping and vlan tests; rows 34, 35, 47, 55 and 57 of what went wrong
// elsewhere; the set of VLAN hopping.
#include <gtest/gtest.h>

#include "tests/blackbox/kit/config.hpp"
#include "tests/blackbox/kit/switch_under_test.hpp"

namespace vroce::blackbox {
namespace {

using nlohmann::json;

constexpr std::size_t kSink = 2;

/// What the sink's queues have sent and the source's priority groups have received since the last look.
class Counts {
public:
    Counts(SwitchUnderTest& sw, std::size_t source, std::size_t sink) : sw_(sw), source_(source), sink_(sink) {
        look();
    }
    /// The only queue and priority that counted `packets`; 8 when there is no such one.
    std::pair<unsigned, unsigned> grown(std::uint64_t packets) {
        const auto queues = queues_;
        const auto priorities = priorities_;
        look();
        return {only(queues, queues_, packets), only(priorities, priorities_, packets)};
    }

private:
    using Eight = std::array<std::uint64_t, 8>;
    static unsigned only(const Eight& before, const Eight& after, std::uint64_t packets) {
        unsigned found = 8;
        for (unsigned i = 0; i < 8; ++i) {
            if (after[i] == before[i]) continue;
            if (found != 8 || after[i] - before[i] != packets) return 8;
            found = i;
        }
        return found;
    }
    void look() {
        const json sink = sw_.counters(sink_);
        const json source = sw_.counters(source_);
        for (unsigned i = 0; i < 8; ++i) {
            queues_[i] = sink["queue"][std::to_string(i)]["packets"];
            priorities_[i] = source["priority"][std::to_string(i)]["rx_packets"];
        }
    }
    SwitchUnderTest& sw_;
    std::size_t source_;
    std::size_t sink_;
    Eight queues_{};
    Eight priorities_{};
};

/// The preset: 24 to 31 in 3, 48 to 55 in 6, the others DSCP / 8.
TEST(Classification, EveryDscpIsInItsClassAndKeepsItsMarks) {
    SwitchUnderTest sw(to_json({}), 3);
    for (const bool v6 : {false, true}) {
        for (unsigned dscp = 0; dscp < 64; ++dscp) {
            sw.forget();
            Counts counts(sw, 0, kSink);
            sw.send(0, {.to = station(kSink), .dscp = dscp, .ecn = 1, .bytes = 100, .v6 = v6, .number = 7'000 + dscp});
            ASSERT_TRUE(sw.await_frames(kSink, 1));
            EXPECT_EQ(counts.grown(1), std::pair(dscp / 8, dscp / 8)) << "DSCP " << dscp << (v6 ? " v6" : " v4");
            const FrameView out = view(sw.frames(kSink).front());
            EXPECT_EQ(out.traffic_class, dscp << 2 | 1);
            EXPECT_EQ(out.ttl, 64) << "a bridge leaves it";
            EXPECT_EQ(out.number, 7'000 + dscp);
        }
    }
}

/// A map of the operator's own, as SONiC writes it.
TEST(Classification, MapsAreTheFilesOwn) {
    json file = to_json({});
    json map = json::object();
    for (unsigned dscp = 0; dscp < 64; ++dscp) map[std::to_string(dscp)] = std::to_string(dscp * 5 % 8);
    file["DSCP_TO_TC_MAP"]["OWN"] = map;
    file["TC_TO_QUEUE_MAP"]["OWN"] = {{"0", "7"}, {"1", "6"}, {"2", "5"}, {"3", "3"},
                                      {"4", "4"}, {"5", "2"}, {"6", "1"}, {"7", "0"}};
    file["PORT_QOS_MAP"]["Ethernet0"] = {{"dscp_to_tc_map", "OWN"}, {"tc_to_queue_map", "OWN"}};
    SwitchUnderTest sw(file, 3);
    Counts counts(sw, 0, kSink);
    for (unsigned dscp = 0; dscp < 64; ++dscp) {
        sw.send(0, {.to = station(kSink), .dscp = dscp, .bytes = 64});
        ASSERT_TRUE(sw.await_frames(kSink, dscp + 1));
        const unsigned tc = dscp * 5 % 8;
        const unsigned queue = tc == 3 || tc == 4 ? tc : 7 - tc;  // 3 is lossless: its pause stops queue 3
        EXPECT_EQ(counts.grown(1), std::pair(queue, tc)) << "DSCP " << dscp;
    }
}

class Vlans : public ::testing::Test {
protected:
    /// Ports 0 and 1: access of VLAN 10; 2: trunk of 10 and 20; 3: access of 20; 4: trunk of 20, native 10.
    void SetUp() override {
        SwitchConfig config;
        config.ports = 5;
        json file = to_json(config);
        file["VLAN"] = {{"Vlan10", {{"vlanid", "10"}}}, {"Vlan20", {{"vlanid", "20"}}}};
        const auto member = [&file](const char* key, const char* mode) {
            file["VLAN_MEMBER"][key]["tagging_mode"] = mode;
        };
        member("Vlan10|Ethernet0", "untagged");
        member("Vlan10|Ethernet4", "untagged");
        member("Vlan10|Ethernet8", "tagged");
        member("Vlan20|Ethernet8", "tagged");
        member("Vlan20|Ethernet12", "untagged");
        member("Vlan10|Ethernet16", "untagged");
        member("Vlan20|Ethernet16", "tagged");
        sw_ = std::make_unique<SwitchUnderTest>(file, 5);
        for (const auto& [port, vid] : {std::pair(2u, 10u), {2u, 20u}, {4u, 20u}}) broadcast(port, {c_tag(vid)});
        sw_->forget();
        drops_before_ = sw_->drops();
    }
    std::uint64_t drops() { return sw_->drops() - drops_before_; }
    void broadcast(std::size_t port, std::vector<std::uint32_t> tags) {
        sw_->send(port, {.to = kBroadcastMac, .from = station(port), .dscp = 0, .bytes = 100, .tags = std::move(tags)});
        sw_->settle();
        sw_->drain();
    }
    std::size_t reached() {
        sw_->drain();
        std::size_t sum = 0;
        for (std::size_t port = 0; port < 5; ++port) sum += sw_->frames(port).size();
        return sum;
    }
    using Tags = std::vector<std::uint32_t>;
    Tags tags_at(std::size_t port) {
        EXPECT_EQ(sw_->frames(port).size(), 1u) << "port " << port;
        return sw_->frames(port).empty() ? Tags{0xBAD} : view(sw_->frames(port).front()).tags;
    }
    std::unique_ptr<SwitchUnderTest> sw_;
    std::uint64_t drops_before_ = 0;  ///< the first, untagged word of the trunk's station, which has no VLAN
};

TEST_F(Vlans, ABroadcastReachesItsVlanTaggedWhereTheMemberIs) {
    broadcast(0, {});
    EXPECT_EQ(tags_at(1), Tags{});
    EXPECT_EQ(tags_at(2), Tags{c_tag(10)});
    EXPECT_EQ(tags_at(4), Tags{}) << "its native VLAN";
    EXPECT_EQ(reached(), 3u);
    sw_->forget();
    broadcast(2, {c_tag(20)});
    EXPECT_EQ(tags_at(3), Tags{});
    EXPECT_EQ(tags_at(4), Tags{c_tag(20)});
    EXPECT_EQ(reached(), 2u);
    EXPECT_EQ(drops(), 0u);
}

/// Row 35: VID 0 carries a priority and belongs to the native VLAN.
TEST_F(Vlans, KnownFailure35_APriorityTagIsOfTheNativeVlanAndItsPcpCounts) {
    Counts counts(*sw_, 0, 2);
    Bytes arp = frame({.to = station(2), .from = station(0), .bytes = 64, .tags = {c_tag(0, 5)}});
    arp[16] = 0x08, arp[17] = 0x06;  // no IP: by PCP
    sw_->send_bytes(0, arp);
    ASSERT_TRUE(sw_->await_frames(2, 1));
    EXPECT_EQ(view(sw_->frames(2).front()).tags, Tags{c_tag(10, 5)}) << "the PCP stays";
    EXPECT_EQ(counts.grown(1), std::pair(5u, 5u));
    EXPECT_EQ(drops(), 0u);
}

/// Dot1pToQueueMapping, Dot1pToPgMapping: by the outer tag, and the inner one leaves as it came.
TEST_F(Vlans, EveryPcpIsInItsClassAndTagsAreKept) {
    for (unsigned pcp = 0; pcp < 8; ++pcp) {
        sw_->forget();
        Counts counts(*sw_, 2, 4);
        Bytes bytes =
            frame({.to = station(4), .from = station(2), .bytes = 100, .tags = {c_tag(20, pcp, 1), c_tag(20, pcp)}});
        bytes[20] = 0x12, bytes[21] = 0x34;  // no IP: by PCP
        sw_->send_bytes(2, bytes);
        sw_->settle();
        ASSERT_TRUE(sw_->await_frames(4, 1)) << "PCP " << pcp;
        EXPECT_EQ(sw_->frames(4).front(), bytes) << "PCP, DEI and both tags";
        EXPECT_EQ(counts.grown(1), std::pair(pcp, pcp));
    }
}

/// Row 34: a QinQ broadcast that was delivered is no drop.
TEST_F(Vlans, KnownFailure34_AFloodedQinQBroadcastIsNoDrop) {
    broadcast(2, {c_tag(20), c_tag(99)});
    EXPECT_EQ(sw_->frames(4).size(), 1u);
    EXPECT_EQ(drops(), 1u);
    EXPECT_EQ(sw_->drops(3, "inner_tag_exposed"), 1u) << "only where it would have left untagged";
}

TEST_F(Vlans, NobodyHopsIntoAnotherVlan) {
    struct Hop {
        const char* what;
        std::size_t port;
        Tags tags;
        const char* reason;
        std::size_t drops_at;
    };
    for (const Hop& hop :
         std::vector<Hop>{{"a tag of another VLAN on an access port", 0, {c_tag(20)}, "vlan_filtered", 0},
                          {"a VLAN that the trunk is no member of", 2, {c_tag(30)}, "vlan_filtered", 2},
                          {"VID 4095", 2, {c_tag(4095)}, "vlan_reserved", 2},
                          {"no native VLAN", 2, {}, "no_native_vlan", 2},
                          {"a priority tag without native VLAN", 2, {c_tag(0, 3)}, "no_native_vlan", 2}}) {
        sw_->forget();
        const std::uint64_t before = sw_->drops(hop.drops_at, hop.reason);
        broadcast(hop.port, hop.tags);
        EXPECT_EQ(reached(), 0u) << hop.what;
        EXPECT_EQ(sw_->drops(hop.drops_at, hop.reason), before + 1) << hop.what;
    }
    // A double tag whose outer one is the native VLAN: where it would leave untagged, the inner tag would come to
    // light.
    sw_->forget();
    broadcast(4, {c_tag(10), c_tag(20)});
    EXPECT_TRUE(sw_->frames(3).empty()) << "VLAN 20 has not seen it";
    for (std::size_t access : {0, 1}) {
        for (const Bytes& bytes : sw_->frames(access))
            EXPECT_TRUE(view(bytes).tags.empty()) << "access port " << access;
        EXPECT_EQ(sw_->drops(access, "inner_tag_exposed"), 1u);
    }
    EXPECT_EQ(tags_at(2), (Tags{c_tag(10), c_tag(20)})) << "a trunk carries both";
}

/// Row 55: the MTU is of the packet; tags come on top.
TEST_F(Vlans, KnownFailure55_TheLargestFrameFitsWithItsTagsAndOneMoreByteDoesNot) {
    constexpr std::uint32_t kMtu = 9'100;
    const auto send = [this](std::uint32_t bytes, Tags tags) {
        sw_->send(2, {.to = station(4), .from = station(2), .dscp = 0, .bytes = bytes, .tags = std::move(tags)});
        sw_->settle();
        sw_->drain();
    };
    send(kMtu + 14 + 4, {c_tag(20)});
    send(kMtu + 14 + 8, {c_tag(20), c_tag(5)});
    EXPECT_EQ(sw_->frames(4).size(), 2u);
    send(kMtu + 14 + 5, {c_tag(20)});
    EXPECT_EQ(sw_->frames(4).size(), 2u);
    EXPECT_EQ(sw_->drops(4, "mtu_exceeded"), 1u);
}

/// Row 57: a port that invents addresses leaves the stations of the others where they are.
TEST_F(Vlans, KnownFailure57_AFloodOfAddressesForgetsNobody) {
    for (std::uint64_t i = 0; i < 20'000; ++i)
        sw_->send(0, {.to = station(1), .from = 0x0200'0100'0000 + i, .dscp = 0, .bytes = 64});
    sw_->settle();
    EXPECT_GT(sw_->ask("counters")["fdb"]["full"].get<std::uint64_t>(), 0u);
    sw_->forget();
    sw_->send(2, {.to = station(3), .from = station(2), .dscp = 0, .tags = {c_tag(20)}});
    ASSERT_TRUE(sw_->await_frames(3, 1));
    EXPECT_EQ(reached(), 1u) << "known, not flooded";
    sw_->send(3, {.to = station(2), .from = 0x0200'0200'0001, .dscp = 0});
    sw_->settle();
    sw_->forget();
    sw_->send(2, {.to = 0x0200'0200'0001, .from = station(2), .dscp = 0, .tags = {c_tag(20)}});
    ASSERT_TRUE(sw_->await_frames(3, 1));
    EXPECT_EQ(reached(), 1u) << "a new station of another port is still learnt";
}

/// Row 47: untagged ports are classified by DSCP; rewriting on egress gives tags their PCP.
TEST(Rewrite, KnownFailure47_ClassesLeaveWithTheMarksOfTheMaps) {
    json file = to_json({});
    file["VLAN"]["Vlan10"]["vlanid"] = "10";
    file["VLAN_MEMBER"] = {{"Vlan10|Ethernet0", {{"tagging_mode", "untagged"}}},
                           {"Vlan10|Ethernet4", {{"tagging_mode", "untagged"}}},
                           {"Vlan10|Ethernet8", {{"tagging_mode", "tagged"}}}};
    file["TC_TO_DOT1P_MAP"]["P"] = {{"0", "0"}, {"1", "1"}, {"2", "2"}, {"3", "4"},
                                    {"4", "3"}, {"5", "5"}, {"6", "7"}, {"7", "6"}};
    file["TC_TO_DSCP_MAP"]["D"] = {{"0", "10"}, {"1", "8"},  {"2", "16"}, {"3", "28"},
                                   {"4", "32"}, {"5", "40"}, {"6", "48"}, {"7", "56"}};
    file["PORT_QOS_MAP"]["Ethernet8"] = {{"tc_to_dot1p_map", "P"}, {"tc_to_dscp_map", "D"}};
    SwitchUnderTest sw(file, 3);
    sw.send(kSink, {.to = kBroadcastMac, .from = station(kSink), .dscp = 0, .tags = {c_tag(10)}});
    sw.settle();
    for (const bool v6 : {false, true}) {
        sw.forget();
        sw.send(0, {.to = station(kSink), .dscp = 26, .ecn = 2, .v6 = v6});
        ASSERT_TRUE(sw.await_frames(kSink, 1));
        const FrameView out = view(sw.frames(kSink).front());
        EXPECT_EQ(out.tags, std::vector<std::uint32_t>{c_tag(10, 4)});
        EXPECT_EQ(out.dscp(), 28u) << "and the checksum holds";
        EXPECT_EQ(out.ecn(), 2u);
    }
}

}  // namespace
}  // namespace vroce::blackbox
