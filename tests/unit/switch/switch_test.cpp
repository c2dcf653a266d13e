// The whole switch on a virtual clock: frames in by ports, frames out by ports, every other end counted by name.
#include "switch/core/switch.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/switch/frames.hpp"

namespace vroce::sw {
namespace {

using namespace test;

/// A device that keeps what it is given.
class ListPort final : public Port {
public:
    std::size_t receive(std::span<Packet*>) override { return 0; }
    std::size_t send(std::span<Packet* const> packets) override {
        std::size_t took = 0;
        for (; took < packets.size() && room > 0; ++took, --room) {
            frames.push_back(bytes_of(*packets[took]));
            release(packets[took]);
        }
        return took;
    }
    bool link_up() const override { return link; }

    std::vector<std::vector<std::uint8_t>> frames;
    std::size_t room = 1'000'000;
    bool link = true;
};

class SwitchTest : public ::testing::Test {
protected:
    static constexpr std::size_t kPorts = 4;

    /// All ports untagged in VLAN 1, unless the test says otherwise.
    void start(std::shared_ptr<SwitchConfig> config = nullptr) {
        if (config == nullptr) {
            config = std::make_shared<SwitchConfig>(basic());
            for (PortId port = 0; port < kPorts; ++port) config->vlans.add_member(1, port, false);
        }
        switch_ = std::make_unique<Switch>(config, 1);
        for (PortId port = 0; port < kPorts; ++port) {
            switch_->attach(port, devices_[port], pool_);
            switch_->set_link(now_, port, true);
        }
    }
    static SwitchConfig basic() {
        SwitchConfig config;
        for (std::size_t i = 0; i < kPorts; ++i) {
            PortConfig port;
            port.name = "Ethernet" + std::to_string(i);
            port.mtu_bytes = 1'500;
            config.ports.push_back(port);
        }
        return config;
    }

    void receive(PortId port, const FrameSpec& spec) { switch_->receive(now_, port, packet_of(pool_, bytes_of(spec))); }
    void send_all() {
        for (int i = 0; i < 100; ++i) {
            now_ += microseconds(10);
            static_cast<void>(switch_->transmit(now_));
        }
    }
    /// How many frames have left by each port, since the last question.
    std::vector<std::size_t> sent() {
        send_all();
        std::vector<std::size_t> counts;
        for (ListPort& device : devices_) {
            counts.push_back(device.frames.size());
            last_[counts.size() - 1] = device.frames;
            device.frames.clear();
        }
        return counts;
    }
    std::uint64_t drops(PortId port, DropReason reason) const { return switch_->counters(port).drops[index(reason)]; }
    void TearDown() override {
        switch_.reset();
        EXPECT_EQ(pool_.in_use(), 0u) << "a frame was lost without a name";
    }

    using Counts = std::vector<std::size_t>;
    SlabPool pool_{256};
    std::array<ListPort, kPorts> devices_;
    std::array<std::vector<std::vector<std::uint8_t>>, kPorts> last_;
    std::unique_ptr<Switch> switch_;
    Instant now_{seconds(1).ps};
};

TEST_F(SwitchTest, FloodsTheUnknownAndForwardsTheKnown) {
    start();
    receive(0, {.destination = kStationB, .source = kStationA});
    EXPECT_EQ(sent(), Counts({0, 1, 1, 1}));
    receive(1, {.destination = kStationA, .source = kStationB});
    EXPECT_EQ(sent(), Counts({1, 0, 0, 0}));
    receive(0, {.destination = kStationB, .source = kStationA});
    EXPECT_EQ(sent(), Counts({0, 1, 0, 0}));
    EXPECT_EQ(last_[1][0], bytes_of(FrameSpec{.destination = kStationB, .source = kStationA}));
    EXPECT_EQ(switch_->counters(0).flooded, 1u);
}

TEST_F(SwitchTest, CountsWhatComesAndGoes) {
    start();
    receive(0, {.destination = kBroadcast});
    receive(0, {.destination = 0x0100'5e00'0001});
    receive(0, {.destination = kStationB});
    send_all();
    const TrafficCounters& rx = switch_->counters(0).rx;
    EXPECT_EQ(rx.packets, 3u);
    EXPECT_EQ(rx.bytes, 180u);
    EXPECT_EQ(rx.broadcast, 1u);
    EXPECT_EQ(rx.multicast, 1u);
    EXPECT_EQ(rx.unicast, 1u);
    const TrafficCounters& tx = switch_->counters(2).tx;
    EXPECT_EQ(tx.packets, 3u);
    EXPECT_EQ(tx.bytes, 180u);
    EXPECT_EQ(tx.broadcast, 1u);
    EXPECT_EQ(tx.multicast, 1u);
    EXPECT_EQ(tx.unicast, 1u);
    EXPECT_EQ(switch_->tx(2)->counters().tx_packets, 3u);
}

TEST_F(SwitchTest, ConsumesMacControlAndNeverLearnsFromIt) {
    start();
    receive(0, {.destination = kMacControlAddress, .source = kStationA, .type = 0x8808});
    receive(0, {.destination = kMacControlAddress, .source = 0, .type = 0x8808});
    receive(0, {.destination = kStationB, .source = kStationA, .type = 0x8808});
    EXPECT_EQ(sent(), Counts({0, 0, 0, 0}));
    EXPECT_EQ(switch_->counters(0).rx_mac_control, 3u);
    EXPECT_EQ(switch_->counters(0).dropped(), 0u);
    EXPECT_EQ(switch_->fdb().size(), 0u);
}

TEST_F(SwitchTest, MacControlIsConsumedOnATrunkToo) {
    auto config = std::make_shared<SwitchConfig>(basic());
    for (PortId port = 0; port < kPorts; ++port) config->vlans.add_member(10, port, true);
    start(config);
    receive(0, {.destination = kMacControlAddress, .type = 0x8808});
    EXPECT_EQ(switch_->counters(0).rx_mac_control, 1u);
    receive(0, {.tags = {c_tag(10)}, .type = 0x8808});
    EXPECT_EQ(drops(0, DropReason::kTaggedMacControl), 1u);
    EXPECT_EQ(sent(), Counts({0, 0, 0, 0}));
}

TEST_F(SwitchTest, DropsWithAName) {
    start();
    receive(0, {.destination = 0x0180'c200'000e});
    EXPECT_EQ(drops(0, DropReason::kLinkLocal), 1u);
    receive(0, {.source = 0x0300'0000'0001});
    EXPECT_EQ(drops(0, DropReason::kSourceInvalid), 1u);
    receive(0, {.tags = {c_tag(4095)}});
    EXPECT_EQ(drops(0, DropReason::kVlanReserved), 1u);
    receive(0, {.tags = {c_tag(2)}});
    EXPECT_EQ(drops(0, DropReason::kVlanFiltered), 1u);
    switch_->receive(now_, 0, packet_of(pool_, std::vector<std::uint8_t>(13)));
    EXPECT_EQ(drops(0, DropReason::kTooShort), 1u);
    EXPECT_EQ(switch_->counters(0).dropped(), 5u);
    EXPECT_EQ(sent(), Counts({0, 0, 0, 0}));
}

TEST_F(SwitchTest, SendsNothingBackWhereItCameFrom) {
    start();
    receive(0, {.destination = kStationB, .source = kStationA});
    receive(0, {.destination = kStationA, .source = kStationC});
    EXPECT_EQ(drops(0, DropReason::kSamePort), 1u);
    EXPECT_EQ(sent(), Counts({0, 1, 1, 1}));
}

TEST_F(SwitchTest, AMovedStationIsFollowedAtOnce) {
    start();
    receive(0, {.destination = kBroadcast, .source = kStationA});
    receive(3, {.destination = kBroadcast, .source = kStationA});
    sent();
    receive(1, {.destination = kStationA, .source = kStationB});
    EXPECT_EQ(sent(), Counts({0, 0, 0, 1}));
}

TEST_F(SwitchTest, AnAgedStationIsFloodedAgain) {
    start();
    receive(0, {.destination = kBroadcast, .source = kStationA});
    sent();
    now_ += seconds(301);
    receive(1, {.destination = kStationA, .source = kStationB});
    EXPECT_EQ(sent(), Counts({1, 0, 1, 1}));
}

/// Port 0: access VLAN 10. Port 1: access VLAN 20. Port 2: trunk 10 and 20. Port 3: native 10, tagged 20.
class VlanSwitch : public SwitchTest {
protected:
    void SetUp() override {
        auto config = std::make_shared<SwitchConfig>(basic());
        config->vlans.add_member(10, 0, false);
        config->vlans.add_member(20, 1, false);
        config->vlans.add_member(10, 2, true);
        config->vlans.add_member(20, 2, true);
        config->vlans.add_member(10, 3, false);
        config->vlans.add_member(20, 3, true);
        start(config);
    }
};

TEST_F(VlanSwitch, FloodsOnlyInsideTheVlanWithTheTagEachPortWants) {
    receive(0, {});
    EXPECT_EQ(sent(), Counts({0, 0, 1, 1}));
    EXPECT_EQ(last_[2][0], bytes_of(FrameSpec{.tags = {c_tag(10)}}));
    EXPECT_EQ(last_[3][0], bytes_of(FrameSpec{}));
    receive(1, {.source = kStationC});
    EXPECT_EQ(sent(), Counts({0, 0, 1, 1}));
    EXPECT_EQ(last_[2][0], bytes_of(FrameSpec{.source = kStationC, .tags = {c_tag(20)}}));
    EXPECT_EQ(last_[3][0], bytes_of(FrameSpec{.source = kStationC, .tags = {c_tag(20)}}));
}

TEST_F(VlanSwitch, KeepsThePriorityOnTheWay) {
    receive(2, {.tags = {c_tag(20, 5, 1)}});
    EXPECT_EQ(sent(), Counts({0, 1, 0, 1}));
    EXPECT_EQ(last_[3][0], bytes_of(FrameSpec{.tags = {c_tag(20, 5, 1)}}));
    EXPECT_EQ(last_[1][0], bytes_of(FrameSpec{}));
    receive(0, {.tags = {c_tag(0, 6)}});
    EXPECT_EQ(sent(), Counts({0, 0, 1, 1}));
    EXPECT_EQ(last_[2][0], bytes_of(FrameSpec{.tags = {c_tag(10, 6)}}));
    EXPECT_EQ(last_[3][0], bytes_of(FrameSpec{}));
}

TEST_F(VlanSwitch, NobodyHopsIntoAnotherVlan) {
    receive(0, {.tags = {c_tag(20)}});
    EXPECT_EQ(drops(0, DropReason::kVlanFiltered), 1u);
    EXPECT_EQ(sent(), Counts({0, 0, 0, 0}));

    receive(0, {.tags = {c_tag(10), c_tag(20)}});
    EXPECT_EQ(sent(), Counts({0, 0, 1, 0})) << "tagged still, or not at all";
    EXPECT_EQ(last_[2][0], bytes_of(FrameSpec{.tags = {c_tag(10), c_tag(20)}}));
    EXPECT_EQ(drops(3, DropReason::kInnerTagExposed), 1u);

    receive(0, {.tags = {c_tag(0), c_tag(20)}});
    EXPECT_EQ(sent(), Counts({0, 0, 1, 0}));
    EXPECT_EQ(last_[2][0], bytes_of(FrameSpec{.tags = {c_tag(10), c_tag(20)}}));
}

TEST_F(VlanSwitch, ATrunkWithoutNativeTakesNothingUntagged) {
    receive(2, {});
    receive(2, {.tags = {c_tag(0, 3)}});
    EXPECT_EQ(drops(2, DropReason::kNoNativeVlan), 2u);
    EXPECT_EQ(sent(), Counts({0, 0, 0, 0}));
}

TEST_F(SwitchTest, APriorityGoesThroughTheWholeSwitch) {
    auto config = std::make_shared<SwitchConfig>(basic());
    for (PortId port = 0; port < kPorts; ++port) config->vlans.add_member(1, port, port == 2);
    PortQosConfig& qos = config->ports[0].qos;
    qos.ingress.trust = Trust::kPcp;
    qos.ingress.pcp_to_tc = identity_map<kPcps>();
    qos.flow_control.pfc_enable = 1 << 3;
    config->pfc_in_use = true;
    config->ports[2].qos.remark.pcp = true;
    config->ports[2].qos.remark.tc_to_pcp = {7, 6, 5, 4, 3, 2, 1, 0};
    start(config);
    receive(0, {.destination = kStationB, .tags = {c_tag(0, 3)}});
    receive(0, {.destination = kBroadcast, .tags = {c_tag(0, 3)}});
    EXPECT_EQ(sent(), Counts({0, 0, 0, 0}));
    EXPECT_EQ(drops(0, DropReason::kUnknownUnicastLossless), 1u);
    EXPECT_EQ(drops(0, DropReason::kBroadcastLossless), 1u);
    receive(2, {.destination = kBroadcast, .source = kStationB, .tags = {c_tag(1, 3)}});
    EXPECT_EQ(sent(), Counts({1, 1, 0, 1})) << "the ingress port's configuration counts";
    receive(0, {.destination = kStationB, .tags = {c_tag(0, 3, 1)}});
    EXPECT_EQ(sent(), Counts({0, 0, 1, 0}));
    EXPECT_EQ(last_[2][0], bytes_of(FrameSpec{.tags = {c_tag(1, 4, 1)}}));
    receive(0, {.destination = kStationB, .tags = {c_tag(0, 2)}, .type = 0x8915});
    EXPECT_EQ(switch_->counters(0).rx_priority[3].packets, 3u);
    EXPECT_EQ(switch_->counters(0).rx_priority[2].packets, 1u);
    EXPECT_EQ(switch_->counters(0).roce_in_lossy_class_pcp[2], 1u);
}

TEST_F(SwitchTest, DropsWhatIsTooLargeForTheOutputPort) {
    auto config = std::make_shared<SwitchConfig>(basic());
    for (PortId port = 0; port < kPorts; ++port) config->vlans.add_member(1, port, port == 3);
    config->ports[1].mtu_bytes = 1'400;
    start(config);
    receive(0, {.payload = 1'500});
    EXPECT_EQ(sent(), Counts({0, 0, 1, 1})) << "the tag that port 3 adds does not count";
    EXPECT_EQ(drops(1, DropReason::kMtuExceeded), 1u);
}

TEST_F(SwitchTest, RefusesWhatIsBeyondTheEgressLimit) {
    auto config = std::make_shared<SwitchConfig>(basic());
    for (PortId port = 0; port < kPorts; ++port) config->vlans.add_member(1, port, false);
    config->ports[1].egress_limit_bytes = 10 * 60;
    start(config);
    receive(1, {.destination = kBroadcast, .source = kStationB});
    sent();
    for (int i = 0; i < 16; ++i) receive(0, {});
    EXPECT_EQ(drops(1, DropReason::kEgressFull), 6u);
    EXPECT_EQ(sent(), Counts({0, 10, 0, 0}));
}

TEST_F(SwitchTest, SmallFramesCannotTakeMorePacketsThanAPortMayHold) {
    auto config = std::make_shared<SwitchConfig>(basic());
    for (PortId port = 0; port < kPorts; ++port) config->vlans.add_member(1, port, false);
    config->ports[1].egress_limit_packets = 5;
    start(config);
    receive(1, {.destination = kBroadcast, .source = kStationB});
    sent();
    for (int i = 0; i < 16; ++i) receive(0, {});
    EXPECT_EQ(drops(1, DropReason::kEgressFull), 11u);
    EXPECT_EQ(sent(), Counts({0, 5, 0, 0}));
}

TEST_F(SwitchTest, WredSeesTheFramesOfTheSameBurst) {
    auto config = std::make_shared<SwitchConfig>(basic());
    for (PortId port = 0; port < kPorts; ++port) config->vlans.add_member(1, port, false);
    WredConfig& wred = config->ports[1].qos.queues[0].wred;
    wred.wred = true;
    wred.drop_min_bytes = wred.drop_max_bytes = 9 * 60;
    wred.drop_probability_percent = 100;
    start(config);
    receive(1, {.destination = kBroadcast, .source = kStationB});
    sent();
    std::array<Packet*, 16> burst;
    for (Packet*& packet : burst) packet = packet_of(pool_, bytes_of(FrameSpec{}));
    switch_->receive(now_, 0, burst);
    EXPECT_EQ(drops(1, DropReason::kWred), 6u) << "the tenth found 9 frames, the threshold, the eleventh more";
    EXPECT_EQ(sent(), Counts({0, 10, 0, 0}));
}

TEST_F(SwitchTest, HoldsWhatTheDeviceDoesNotTake) {
    start();
    receive(1, {.destination = kBroadcast, .source = kStationB});
    sent();
    devices_[1].room = 3;
    for (int i = 0; i < 8; ++i) receive(0, {});
    EXPECT_EQ(sent(), Counts({0, 3, 0, 0}));
    devices_[1].room = 100;
    EXPECT_EQ(sent(), Counts({0, 5, 0, 0}));
    EXPECT_GT(switch_->tx(1)->counters().tx_ring_full, 0u);
}

TEST_F(SwitchTest, APortWithoutLinkGetsNothingAndItsStationsAreForgotten) {
    start();
    receive(1, {.destination = kBroadcast, .source = kStationB});
    sent();
    switch_->set_link(now_, 1, false);
    EXPECT_EQ(switch_->fdb().size(), 0u);
    receive(0, {});
    EXPECT_EQ(sent(), Counts({0, 0, 1, 1}));
    for (PortId port = 2; port < kPorts; ++port) switch_->set_link(now_, port, false);
    receive(0, {});
    EXPECT_EQ(drops(0, DropReason::kNoMember), 1u);
}

TEST_F(SwitchTest, AnAdministrativelyDownPortIsNotForwardedTo) {
    auto config = std::make_shared<SwitchConfig>(basic());
    for (PortId port = 0; port < kPorts; ++port) config->vlans.add_member(1, port, false);
    config->ports[2].admin_up = false;
    start(config);
    EXPECT_FALSE(switch_->link_up(2));
    receive(0, {});
    EXPECT_EQ(sent(), Counts({0, 1, 0, 1}));
}

TEST_F(SwitchTest, PacesAPortToItsSpeed) {
    auto config = std::make_shared<SwitchConfig>(basic());
    for (PortId port = 0; port < kPorts; ++port) config->vlans.add_member(1, port, false);
    config->ports[1].speed_bps = 1'000'000'000;
    start(config);
    receive(1, {.destination = kBroadcast, .source = kStationB});
    sent();
    for (int i = 0; i < 100; ++i) receive(0, {.payload = 1'500});
    EXPECT_LE(switch_->next_deadline(), now_);
    static_cast<void>(switch_->transmit(now_));
    EXPECT_LT(devices_[1].frames.size(), 10u) << "100 frames of 1.2 us x 10 each";
    EXPECT_GT(switch_->next_deadline(), now_);
    EXPECT_LT(switch_->next_deadline(), now_ + microseconds(13));
}

TEST_F(SwitchTest, ANewConfigurationHoldsFromTheNextFrameOn) {
    start();
    receive(1, {.destination = kBroadcast, .source = kStationB});
    sent();
    auto config = std::make_shared<SwitchConfig>(basic());
    config->vlans.add_member(1, 0, false);
    config->vlans.add_member(1, 3, false);
    switch_->apply(now_, config);
    receive(0, {});
    EXPECT_EQ(sent(), Counts({0, 0, 0, 1}));
    receive(1, {});
    EXPECT_EQ(drops(1, DropReason::kNoNativeVlan), 1u);
}

TEST_F(SwitchTest, KeepsTheOrderOfABurst) {
    start();
    receive(1, {.destination = kBroadcast, .source = kStationB});
    sent();
    std::vector<Packet*> burst;
    for (std::size_t i = 0; i < kBurst; ++i) {
        // Every third one ends early: the others must close up in order.
        burst.push_back(packet_of(pool_, bytes_of(FrameSpec{.source = i % 3 == 0 ? 0 : kStationA, .payload = 46 + i})));
    }
    switch_->receive(now_, 0, burst);
    EXPECT_EQ(sent()[1], 21u);
    std::size_t length = 0;
    for (const auto& frame : last_[1]) {
        EXPECT_GT(frame.size(), length);
        length = frame.size();
    }
    EXPECT_EQ(drops(0, DropReason::kSourceInvalid), 11u);
}

TEST_F(SwitchTest, AnIdleSwitchHasNoDeadline) {
    start();
    EXPECT_EQ(switch_->next_deadline(), kNever);
    receive(0, {});
    sent();
    EXPECT_GT(switch_->next_deadline(), now_);
    for (int i = 0; i < 1'000 && switch_->next_deadline() != kNever; ++i) {
        now_ = switch_->next_deadline();
        switch_->on_timeout(now_);
    }
    EXPECT_EQ(switch_->next_deadline(), kNever) << "all entries have aged";
}

/// Every frame that comes in has exactly one end: consumed, dropped by name, forwarded or flooded.
TEST_F(SwitchTest, NothingVanishesOverRandomFrames) {
    auto config = std::make_shared<SwitchConfig>(basic());
    config->vlans.add_member(10, 0, false);
    config->vlans.add_member(10, 1, true);
    config->vlans.add_member(20, 1, true);
    config->vlans.add_member(1, 2, false);
    config->vlans.add_member(10, 2, true);
    config->vlans.add_member(20, 3, false);
    for (PortId port = 0; port < kPorts; ++port) {
        PortQosConfig& qos = config->ports[port].qos;
        qos.ingress.trust = static_cast<Trust>(port + 1);
        qos.ingress.pcp_to_tc = identity_map<kPcps>();
        qos.ingress.dscp_to_tc.fill(3);
        qos.flow_control.pfc_enable = static_cast<std::uint8_t>(1U << port);
        qos.remark.dscp = true;
        qos.remark.pcp = port % 2 == 0;
    }
    config->pfc_in_use = true;
    start(config);
    std::uint64_t state = 12345;
    const auto random = [&state](std::uint64_t below) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % below;
    };
    for (int i = 0; i < 20'000; ++i) {
        std::vector<std::uint8_t> bytes(random(80));
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random(4));
        if (bytes.size() > 20 && random(2) == 0) {
            bytes[12] = random(2) == 0 ? 0x81 : 0x88;
            bytes[13] = bytes[12] == 0x81 ? 0 : static_cast<std::uint8_t>(random(2) == 0 ? 0x08 : 0xa8);
            bytes[15] = static_cast<std::uint8_t>(random(3) * 10);
        } else if (bytes.size() > 20) {
            bytes[12] = random(2) == 0 ? 0x08 : 0x86;
            bytes[13] = bytes[12] == 0x08 ? 0x00 : 0xdd;
            bytes[14] = bytes[12] == 0x08 ? 0x45 : 0x60;
        }
        switch_->receive(now_, static_cast<PortId>(random(kPorts)), packet_of(pool_, bytes));
        if (i % 16 == 0) sent();
    }
    sent();
    EXPECT_EQ(pool_.in_use(), 0u);
    std::uint64_t received = 0;
    for (PortId port = 0; port < kPorts; ++port) received += switch_->counters(port).rx.packets;
    EXPECT_EQ(received, 20'000u);
}

}  // namespace
}  // namespace vroce::sw
