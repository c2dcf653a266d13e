// The bridge: where each kind of frame goes, and what is refused by name.
#include "nic/bridge/bridge.hpp"

#include "tests/unit/nic_io/frames.hpp"

namespace vroce::nic::test {
namespace {

constexpr std::uint32_t kMtu = 1'500;
const MacAddress kPeer = mac(0x99);

class BridgeTest : public ::testing::Test {
protected:
    // Two endpoints in the untagged network, two in VLAN 10; two MACs are used twice, once in each.
    BridgeTest()
        : bridge({{mac(1), 0, {ipv4(1), ipv6(1)}},
                  {mac(2), 0, {ipv4(2)}},
                  {mac(1), 10, {ipv4(3)}},
                  {mac(4), 10, {ipv4(4)}}},
                 kMtu, pool, sink) {}
    ~BridgeTest() override { EXPECT_EQ(pool.in_use(), 0u) << "a packet was lost"; }

    Packet* packet(const Bytes& bytes) {
        Packet* p = pool.alloc();
        p->resize(static_cast<std::uint32_t>(bytes.size()));
        std::memcpy(p->data, bytes.data(), bytes.size());
        return p;
    }
    void wire(const Bytes& bytes) { bridge.from_wire(packet(bytes)); }
    void tap(std::size_t endpoint, const Bytes& bytes) { bridge.from_tap(endpoint, packet(bytes)); }
    void engine(const Bytes& bytes) { bridge.from_engine(packet(bytes)); }
    std::uint64_t count(BridgeCounter c) const { return bridge.counters()[c]; }
    std::vector<std::size_t> tapped() const {
        std::vector<std::size_t> out;
        for (const auto& [endpoint, bytes] : sink.taps) out.push_back(endpoint);
        return out;
    }
    void expect_dropped(BridgeCounter reason) {
        EXPECT_TRUE(sink.nothing());
        EXPECT_EQ(count(reason), 1u) << label(reason);
    }

    SlabPool pool{16};
    RecordingSink sink;
    Bridge bridge;
};

TEST_F(BridgeTest, UnicastFromTheWireGoesToItsOwnerUnchanged) {
    const Bytes sent = frame({mac(2), kPeer});
    wire(sent);
    ASSERT_EQ(tapped(), std::vector<std::size_t>{1});
    EXPECT_EQ(sink.taps[0].second, sent);
}

TEST_F(BridgeTest, RoceToAnAddressOfTheOwnerGoesToTheEngine) {
    wire(roce_frame(mac(1), kPeer, ipv4(1)));
    wire(roce_frame(mac(1), kPeer, ipv6(1)));
    EXPECT_EQ(sink.engine.size(), 2u);
    EXPECT_TRUE(sink.taps.empty());
}

TEST_F(BridgeTest, RoceToAnotherAddressIsTheKernels) {
    wire(roce_frame(mac(1), kPeer, ipv4(9)));
    wire(roce_frame(mac(2), kPeer, ipv4(4)));  // an endpoint's, but of another VLAN
    EXPECT_TRUE(sink.engine.empty());
    EXPECT_EQ(tapped(), (std::vector<std::size_t>{0, 1}));
}

TEST_F(BridgeTest, RoceByTheMacOfAnotherEndpointInTheNetworkIsTheEngines) {
    wire(roce_frame(mac(1), kPeer, ipv4(2)));
    EXPECT_EQ(sink.engine.size(), 1u);
}

TEST_F(BridgeTest, AddressesFollowWhatTheKernelSays) {
    bridge.set_addresses(0, {ipv4(7)});
    wire(roce_frame(mac(1), kPeer, ipv4(1)));
    EXPECT_TRUE(sink.engine.empty());
    wire(roce_frame(mac(1), kPeer, ipv4(7)));
    EXPECT_EQ(sink.engine.size(), 1u);
}

TEST_F(BridgeTest, WhatOnlyLooksLikeRoceIsTheKernels) {
    const Bytes good = roce_frame(mac(1), kPeer, ipv4(1));
    const auto broken = [&](std::size_t at, std::uint8_t value) {
        Bytes bytes = good;
        bytes[at] = value;
        wire(bytes);
    };
    broken(14, 0x46);      // IP options
    broken(14 + 6, 0x20);  // more fragments
    broken(14 + 7, 0x01);  // a later fragment
    broken(14 + 9, 6);     // TCP
    broken(14 + 23, 0);    // another port
    Bytes headless = good;
    headless.resize(14 + 20 + 7);
    wire(headless);
    EXPECT_TRUE(sink.engine.empty());
    EXPECT_EQ(sink.taps.size(), 6u);

    Bytes extension = roce_frame(mac(1), kPeer, ipv6(1));
    extension[14 + 6] = 0;  // hop-by-hop options
    wire(extension);
    EXPECT_TRUE(sink.engine.empty());
}

TEST_F(BridgeTest, GroupsFromTheWireReachEveryInterfaceOfTheNetwork) {
    wire(frame({kBroadcast, kPeer}));
    EXPECT_EQ(tapped(), (std::vector<std::size_t>{0, 1}));
    EXPECT_TRUE(sink.wire.empty());
    sink.clear();
    wire(frame({{{0x33, 0x33, 0, 0, 0, 1}}, kPeer, 10}));
    EXPECT_EQ(tapped(), (std::vector<std::size_t>{2, 3}));
}

TEST_F(BridgeTest, TagsExistOnTheWireOnly) {
    wire(frame({mac(1), kPeer, 10}));
    ASSERT_EQ(tapped(), std::vector<std::size_t>{2});
    EXPECT_EQ(sink.taps[0].second, frame({mac(1), kPeer}));
    sink.clear();
    tap(2, frame({kPeer, mac(1)}));
    ASSERT_EQ(sink.wire.size(), 1u);
    EXPECT_EQ(sink.wire[0], frame({kPeer, mac(1), 10}));
    sink.clear();
    wire(roce_frame(mac(4), kPeer, ipv4(4), 10));
    ASSERT_EQ(sink.engine.size(), 1u);
    EXPECT_EQ(sink.engine[0], roce_frame(mac(4), kPeer, ipv4(4)));
}

TEST_F(BridgeTest, ATagWithoutVlanIsAPriorityOnly) {
    wire(frame({mac(2), kPeer, 3 << 13}));
    ASSERT_EQ(tapped(), std::vector<std::size_t>{1});
    EXPECT_EQ(sink.taps[0].second, frame({mac(2), kPeer}));
}

TEST_F(BridgeTest, DscpBecomesThePriorityInTheTag) {
    Bytes sent = roce_frame(kPeer, mac(1), ipv4(9));
    sent[15] = 26 << 2;
    tap(2, sent);
    ASSERT_EQ(sink.wire.size(), 1u);
    EXPECT_EQ(load_be16(sink.wire[0].data() + 14), 3 << 13 | 10);
}

TEST_F(BridgeTest, InterfacesReachEachOtherWithoutTheWire) {
    tap(0, frame({mac(2), mac(1)}));
    EXPECT_EQ(tapped(), std::vector<std::size_t>{1});
    EXPECT_TRUE(sink.wire.empty());
}

TEST_F(BridgeTest, VlansKeepOwnInterfacesApart) {
    tap(0, frame({mac(4), mac(1)}));
    EXPECT_TRUE(sink.taps.empty());
    EXPECT_EQ(sink.wire.size(), 1u);
}

TEST_F(BridgeTest, GroupsFromAnInterfaceReachTheOthersAndTheWire) {
    const Bytes sent = frame({kBroadcast, mac(1)});
    tap(0, sent);
    EXPECT_EQ(tapped(), std::vector<std::size_t>{1});
    ASSERT_EQ(sink.wire.size(), 1u);
    EXPECT_EQ(sink.wire[0], sent);
    EXPECT_EQ(sink.taps[0].second, sent);
}

TEST_F(BridgeTest, TheEngineReachesTheWireItselfAndItsNeighbours) {
    engine(roce_frame(kPeer, mac(1), ipv4(9)));
    EXPECT_EQ(sink.wire.size(), 1u);
    sink.clear();
    engine(roce_frame(mac(2), mac(1), ipv4(2)));
    engine(roce_frame(mac(1), mac(1), ipv4(1)));
    EXPECT_EQ(sink.engine.size(), 2u);
    EXPECT_TRUE(sink.wire.empty());
    sink.clear();
    engine(roce_frame(mac(4), mac(1), ipv4(4), 10));
    ASSERT_EQ(sink.engine.size(), 1u);
    EXPECT_EQ(sink.engine[0], roce_frame(mac(4), mac(1), ipv4(4)));
    sink.clear();
    engine(roce_frame(mac(4), mac(1), ipv4(4)));  // untagged: another network
    EXPECT_EQ(sink.wire.size(), 1u);
}

TEST_F(BridgeTest, OurOwnAddressComingBackIsALoop) {
    wire(frame({kBroadcast, mac(2)}));
    expect_dropped(BridgeCounter::DropOwnSource);
}

TEST_F(BridgeTest, FramesToNobodyAreDropped) {
    wire(frame({mac(0x55), kPeer}));
    expect_dropped(BridgeCounter::DropUnknownMac);
}

TEST_F(BridgeTest, VlansOfNobodyAreDropped) {
    wire(frame({mac(1), kPeer, 11}));
    expect_dropped(BridgeCounter::DropUnknownVlan);
}

TEST_F(BridgeTest, DoubleTagsAreOfNobody) {
    Bytes bytes = frame({mac(1), kPeer, 10});
    store_be16(bytes.data() + 16, kEtherTypeServiceVlan);
    wire(bytes);
    expect_dropped(BridgeCounter::DropUnknownVlan);
}

TEST_F(BridgeTest, RuntsAreDropped) {
    wire(Bytes(13));
    expect_dropped(BridgeCounter::DropRunt);
    Bytes cut = frame({mac(1), kPeer, 10});
    cut.resize(17);
    wire(cut);
    tap(0, Bytes(13));
    EXPECT_EQ(count(BridgeCounter::DropRunt), 3u);
}

TEST_F(BridgeTest, TheMtuHoldsInEveryDirection) {
    wire(frame({mac(2), kPeer, -1, 0x0806, kMtu}));
    tap(0, frame({kPeer, mac(1), -1, 0x0806, kMtu}));
    engine(frame({kPeer, mac(1), 10, 0x0800, kMtu}));
    EXPECT_EQ(sink.taps.size(), 1u);
    EXPECT_EQ(sink.wire.size(), 2u);
    sink.clear();
    wire(frame({mac(2), kPeer, -1, 0x0806, kMtu + 1}));
    tap(0, frame({kPeer, mac(1), -1, 0x0806, kMtu + 1}));
    engine(frame({kPeer, mac(1), 10, 0x0800, kMtu + 1}));
    EXPECT_TRUE(sink.nothing());
    EXPECT_EQ(count(BridgeCounter::DropOversize), 3u);
}

TEST_F(BridgeTest, AnInterfaceSendsWithItsOwnAddressOnly) {
    tap(0, frame({kPeer, mac(2)}));
    expect_dropped(BridgeCounter::DropTapSource);
}

TEST_F(BridgeTest, AnInterfaceCannotChooseItsVlan) {
    tap(0, frame({kPeer, mac(1), 10}));
    expect_dropped(BridgeCounter::DropTapTagged);
}

TEST_F(BridgeTest, NobodyPausesThePortFromAnInterface) {
    tap(0, frame({{{0x01, 0x80, 0xC2, 0, 0, 1}}, mac(1), -1, 0x8808}));
    expect_dropped(BridgeCounter::DropMacControl);
}

TEST_F(BridgeTest, WithoutPacketsForCopiesTheRestGoesOn) {
    std::vector<Packet*> taken;
    while (pool.available() > 1) taken.push_back(pool.alloc());
    tap(0, frame({kBroadcast, mac(1)}));
    EXPECT_EQ(sink.wire.size(), 1u);
    EXPECT_TRUE(sink.taps.empty());
    EXPECT_EQ(count(BridgeCounter::DropNoPacket), 1u);
    for (Packet* p : taken) release(p);
}

TEST_F(BridgeTest, AnnouncesEveryAddressInItsVlan) {
    bridge.announce();
    ASSERT_EQ(sink.wire.size(), 5u);
    EXPECT_EQ(count(BridgeCounter::Announcements), 5u);
    EXPECT_EQ(load_be16(sink.wire[0].data() + 12), kEtherTypeArp);
    EXPECT_EQ(load_be16(sink.wire[1].data() + 12), kEtherTypeIpv6);
    EXPECT_EQ(load_be32(sink.wire[3].data() + 12), 0x8100'000Au);
    EXPECT_EQ(Bytes(sink.wire[4].begin() + 6, sink.wire[4].begin() + 12), (Bytes{2, 0, 0, 0, 0, 4}));
}

}  // namespace
}  // namespace vroce::nic::test
