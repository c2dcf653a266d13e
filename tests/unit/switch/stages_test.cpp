// Each stage of the pipeline alone: one frame in, one exit out.
#include <gtest/gtest.h>

#include "switch/core/ethernet.hpp"
#include "switch/pipeline/classify.hpp"
#include "switch/pipeline/learn.hpp"
#include "switch/pipeline/link_local.hpp"
#include "switch/pipeline/lookup.hpp"
#include "switch/pipeline/mac_control.hpp"
#include "switch/pipeline/mtu.hpp"
#include "switch/pipeline/parse.hpp"
#include "switch/pipeline/replicate.hpp"
#include "switch/pipeline/retag.hpp"
#include "tests/unit/switch/frames.hpp"

namespace vroce::sw {
namespace {

using namespace test;

class Stages : public ::testing::Test {
protected:
    Frame frame_of(const std::vector<std::uint8_t>& bytes) {
        Frame frame;
        frame.packet = packet_of(pool_, bytes);
        exit_ = parse_frame(frame);
        return frame;
    }
    Frame frame_of(const FrameSpec& spec) { return frame_of(bytes_of(spec)); }

    SlabPool pool_{64};
    ParseExit exit_{};
    VlanTable vlans_;
};

TEST_F(Stages, ParseReadsAnUntaggedFrame) {
    const Frame frame = frame_of(FrameSpec{});
    EXPECT_EQ(exit_, ParseExit::kParsed);
    EXPECT_EQ(frame.destination, kStationB);
    EXPECT_EQ(frame.source, kStationA);
    EXPECT_EQ(frame.ether_type, 0x0800);
    EXPECT_EQ(frame.header_bytes, 14);
    EXPECT_FALSE(frame.tagged);
}

TEST_F(Stages, ParseReadsTags) {
    const Frame one = frame_of(FrameSpec{.tags = {c_tag(10, 5, 1)}});
    EXPECT_TRUE(one.tagged);
    EXPECT_EQ(one.tci, 5 << 13 | 1 << 12 | 10);
    EXPECT_EQ(one.header_bytes, 18);
    EXPECT_FALSE(one.inner_tag);
    const Frame two = frame_of(FrameSpec{.tags = {c_tag(10), c_tag(20)}});
    EXPECT_EQ(two.tci, 10);
    EXPECT_TRUE(two.inner_tag);
    EXPECT_EQ(two.header_bytes, 22);
    const Frame service = frame_of(FrameSpec{.tags = {s_tag(10)}});
    EXPECT_FALSE(service.tagged) << "this bridge reads C-tags only";
    EXPECT_EQ(service.ether_type, kTypeSTag);
    EXPECT_EQ(service.header_bytes, 18);
}

TEST_F(Stages, ParseRefusesEveryTruncation) {
    const std::vector<std::uint8_t> whole = bytes_of(FrameSpec{.tags = {c_tag(10), c_tag(20)}, .payload = 0});
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const Frame frame = frame_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
        EXPECT_EQ(exit_, length < 18 ? ParseExit::kTooShort : ParseExit::kParsed) << length;
        if (length >= 18) {
            EXPECT_LE(frame.header_bytes, length);
        }
        release(frame.packet);
    }
}

TEST_F(Stages, MacControlIsRecognisedByTypeOrAddress) {
    EXPECT_EQ(recognise_mac_control(frame_of(FrameSpec{})), MacControlExit::kOther);
    EXPECT_EQ(recognise_mac_control(frame_of(FrameSpec{.destination = kMacControlAddress, .type = 0x8808})),
              MacControlExit::kControl);
    EXPECT_EQ(recognise_mac_control(frame_of(FrameSpec{.type = 0x8808})), MacControlExit::kControl)
        << "unicast: 802.3 31B";
    EXPECT_EQ(recognise_mac_control(frame_of(FrameSpec{.destination = kMacControlAddress})), MacControlExit::kControl);
    EXPECT_EQ(recognise_mac_control(frame_of(FrameSpec{.tags = {c_tag(10)}, .type = 0x8808})), MacControlExit::kTagged);
}

TEST_F(Stages, SixteenAddressesAreLinkLocal) {
    for (Mac last = 0; last < 0x20; ++last) {
        const Frame frame = frame_of(FrameSpec{.destination = 0x0180'c200'0000 + last});
        EXPECT_EQ(recognise_link_local(frame), last < 0x10 ? LinkLocalExit::kReserved : LinkLocalExit::kOther) << last;
        release(frame.packet);
    }
}

struct VlanCase {
    const char* name;
    std::vector<std::uint32_t> tags;
    ClassifyExit access;  ///< port 0: untagged in VLAN 10
    ClassifyExit trunk;   ///< port 1: tagged in 10 and 20
    ClassifyExit hybrid;  ///< port 2: untagged in 1, tagged in 20
    std::uint16_t vlan_access, vlan_trunk, vlan_hybrid;
};

class Classify : public Stages, public ::testing::WithParamInterface<VlanCase> {};

TEST_P(Classify, FollowsThePortsMembership) {
    vlans_.add_member(10, 0, false);
    vlans_.add_member(10, 1, true);
    vlans_.add_member(20, 1, true);
    vlans_.add_member(1, 2, false);
    vlans_.add_member(20, 2, true);
    const VlanCase& expected = GetParam();
    const ClassifyExit exits[] = {expected.access, expected.trunk, expected.hybrid};
    const std::uint16_t vlans[] = {expected.vlan_access, expected.vlan_trunk, expected.vlan_hybrid};
    for (PortId port = 0; port < 3; ++port) {
        Frame frame = frame_of(FrameSpec{.tags = expected.tags});
        EXPECT_EQ(classify_frame(frame, vlans_, port), exits[port]) << "port " << port;
        if (exits[port] == ClassifyExit::kClassified) {
            EXPECT_EQ(frame.packet->meta.vlan, vlans[port]);
        }
    }
}

constexpr auto kYes = ClassifyExit::kClassified;
constexpr auto kNot = ClassifyExit::kFiltered;
constexpr auto kRsv = ClassifyExit::kReservedVid;
constexpr auto kNat = ClassifyExit::kNoNative;

INSTANTIATE_TEST_SUITE_P(
    All, Classify,
    ::testing::Values(VlanCase{"Untagged", {}, kYes, kNat, kYes, 10, 0, 1},
                      VlanCase{"PriorityTagged", {c_tag(0, 3)}, kYes, kNat, kYes, 10, 0, 1},
                      VlanCase{"Vlan10", {c_tag(10)}, kYes, kYes, kNot, 10, 10, 0},
                      VlanCase{"Vlan20", {c_tag(20)}, kNot, kYes, kYes, 0, 20, 20},
                      VlanCase{"Vlan20WithPriority", {c_tag(20, 7, 1)}, kNot, kYes, kYes, 0, 20, 20},
                      VlanCase{"UnknownVlan", {c_tag(30)}, kNot, kNot, kNot, 0, 0, 0},
                      VlanCase{"Vlan4095", {c_tag(4095)}, kRsv, kRsv, kRsv, 0, 0, 0},
                      VlanCase{"NativeThenInner", {c_tag(1), c_tag(20)}, kNot, kNot, kYes, 0, 0, 1},
                      VlanCase{"PriorityThenInner", {c_tag(0), c_tag(20)}, kYes, kNat, kYes, 10, 0, 1},
                      VlanCase{"ServiceTag", {s_tag(20)}, kYes, kNat, kYes, 10, 0, 1}),
    [](const auto& vlan_case) { return std::string(vlan_case.param.name); });

TEST_F(Stages, LearnRefusesSourcesThatNoStationCanHave) {
    Fdb fdb(1);
    const auto exit = [&](Mac source, PortId port) {
        Frame frame = frame_of(FrameSpec{.source = source});
        frame.packet->meta.vlan = 1;
        return learn_source(Instant{}, port, frame, fdb);
    };
    EXPECT_EQ(exit(0x0300'0000'0001, 0), LearnExit::kInvalidSource);
    EXPECT_EQ(exit(kBroadcast, 0), LearnExit::kInvalidSource);
    EXPECT_EQ(exit(0, 0), LearnExit::kInvalidSource);
    EXPECT_EQ(fdb.size(), 0u);
    EXPECT_EQ(exit(kStationA, 0), LearnExit::kLearnt);
    EXPECT_EQ(exit(kStationA, 0), LearnExit::kKnown);
    EXPECT_EQ(exit(kStationA, 1), LearnExit::kMoved);
}

TEST_F(Stages, LookupForwardsFloodsOrDrops) {
    Fdb fdb(1);
    for (PortId port = 0; port < 4; ++port) vlans_.add_member(1, port, false);
    vlans_.add_member(2, 0, true);
    const auto exit = [&](Mac destination, std::uint16_t vlan, PortSet usable) {
        Frame frame = frame_of(FrameSpec{.destination = destination});
        frame.packet->meta.vlan = vlan;
        const LookupExit result = lookup_outputs(Instant{}, 0, frame, fdb, vlans_, usable);
        return std::pair{result, frame.outputs};
    };
    using Result = std::pair<LookupExit, PortSet>;
    EXPECT_EQ(exit(kStationB, 1, 0xf), Result(LookupExit::kFlood, 0xe)) << "never back to the ingress port";
    EXPECT_EQ(exit(kStationB, 1, 0x7), Result(LookupExit::kFlood, 0x6)) << "only ports that are up";
    EXPECT_EQ(exit(kStationB, 1, 0x1), Result(LookupExit::kNoMember, 0));
    EXPECT_EQ(exit(kStationB, 2, 0xf), Result(LookupExit::kNoMember, 0));
    static_cast<void>(fdb.learn(Instant{}, 1, kStationB, 2));
    EXPECT_EQ(exit(kStationB, 1, 0xf), Result(LookupExit::kForward, 0x4));
    EXPECT_EQ(exit(kStationB, 1, 0x3).first, LookupExit::kPortDown);
    EXPECT_EQ(exit(kStationB, 2, 0xf).first, LookupExit::kNoMember) << "known in another VLAN is not known";
    static_cast<void>(fdb.learn(Instant{}, 1, kStationA, 0));
    EXPECT_EQ(exit(kStationA, 1, 0xf).first, LookupExit::kSamePort);
    EXPECT_EQ(exit(kBroadcast, 1, 0xf), Result(LookupExit::kFlood, 0xe));
    EXPECT_EQ(exit(0x0100'5e00'0001, 1, 0xf), Result(LookupExit::kFlood, 0xe));
}

TEST_F(Stages, ReplicateGivesEveryPortItsOwnBytes) {
    Frame frame = frame_of(FrameSpec{});
    frame.outputs = 0b1011;
    Departures departures;
    EXPECT_EQ(replicate_frame(frame, departures, [](PortId) { FAIL(); }), ReplicateExit::kComplete);
    ASSERT_EQ(departures.list().size(), 3u);
    PortSet seen = 0;
    for (const Departure& departure : departures.list()) {
        seen |= port_bit(departure.port());
        EXPECT_EQ(bytes_of(*departure.packet), bytes_of(FrameSpec{}));
    }
    EXPECT_EQ(seen, frame.outputs);
    EXPECT_EQ(pool_.in_use(), 3u);
}

TEST_F(Stages, ReplicateNamesThePortsThatGotNoCopy) {
    SlabPool small(2);
    Frame frame;
    frame.packet = packet_of(small, bytes_of(FrameSpec{}));
    frame.outputs = 0b1110;
    Departures departures;
    std::vector<PortId> without;
    EXPECT_EQ(replicate_frame(frame, departures, [&](PortId port) { without.push_back(port); }),
              ReplicateExit::kNoBuffer);
    EXPECT_EQ(without, std::vector<PortId>{2});
    EXPECT_EQ(departures.list().size(), 2u);
}

TEST_F(Stages, MtuIsThePayloadBehindTheTags) {
    const auto exit = [&](std::vector<std::uint32_t> tags, std::size_t payload) {
        const Frame frame = frame_of(FrameSpec{.tags = std::move(tags), .payload = payload});
        return check_mtu(Departure{frame.packet, &frame}, 1'500);
    };
    EXPECT_EQ(exit({}, 1'500), MtuExit::kFits);
    EXPECT_EQ(exit({}, 1'501), MtuExit::kTooLarge);
    EXPECT_EQ(exit({c_tag(10)}, 1'500), MtuExit::kFits);
    EXPECT_EQ(exit({c_tag(10), c_tag(20)}, 1'500), MtuExit::kFits);
    EXPECT_EQ(exit({s_tag(10), c_tag(20)}, 1'500), MtuExit::kFits);
    EXPECT_EQ(exit({c_tag(10), c_tag(20)}, 1'501), MtuExit::kTooLarge);
    EXPECT_EQ(exit({c_tag(10), c_tag(20), c_tag(30)}, 1'500), MtuExit::kTooLarge) << "a third tag is payload";
}

struct RetagCase {
    const char* name;
    std::vector<std::uint32_t> in;
    bool leaves_tagged;
    RetagExit exit;
    std::vector<std::uint32_t> out;
};

class Retag : public Stages, public ::testing::WithParamInterface<RetagCase> {};

TEST_P(Retag, WritesTheTagThatThePortWants) {
    const RetagCase& expected = GetParam();
    const Frame frame = frame_of(FrameSpec{.tags = expected.in});
    frame.packet->meta.vlan = 10;
    EXPECT_EQ(retag_frame(Departure{frame.packet, &frame}, expected.leaves_tagged), expected.exit);
    EXPECT_EQ(bytes_of(*frame.packet), bytes_of(FrameSpec{.tags = expected.out}));
}

INSTANTIATE_TEST_SUITE_P(
    All, Retag,
    ::testing::Values(
        RetagCase{"UntaggedToUntagged", {}, false, RetagExit::kUnchanged, {}},
        RetagCase{"UntaggedToTagged", {}, true, RetagExit::kPushed, {c_tag(10)}},
        RetagCase{"TaggedToTagged", {c_tag(10, 5, 1)}, true, RetagExit::kUnchanged, {c_tag(10, 5, 1)}},
        RetagCase{"TaggedToUntagged", {c_tag(10, 5)}, false, RetagExit::kPopped, {}},
        RetagCase{"PriorityToTagged", {c_tag(0, 6, 1)}, true, RetagExit::kRenumbered, {c_tag(10, 6, 1)}},
        RetagCase{"PriorityToUntagged", {c_tag(0, 6)}, false, RetagExit::kPopped, {}},
        RetagCase{"ServiceToUntagged", {s_tag(7)}, false, RetagExit::kUnchanged, {s_tag(7)}},
        RetagCase{"ServiceToTagged", {s_tag(7)}, true, RetagExit::kPushed, {c_tag(10), s_tag(7)}},
        RetagCase{"DoubleToTagged", {c_tag(10), c_tag(20)}, true, RetagExit::kUnchanged, {c_tag(10), c_tag(20)}},
        RetagCase{
            "DoubleToUntagged", {c_tag(10), c_tag(20)}, false, RetagExit::kInnerTagExposed, {c_tag(10), c_tag(20)}},
        RetagCase{
            "PriorityHidesATag", {c_tag(0), c_tag(20)}, false, RetagExit::kInnerTagExposed, {c_tag(0), c_tag(20)}}),
    [](const auto& retag_case) { return std::string(retag_case.param.name); });

}  // namespace
}  // namespace vroce::sw
