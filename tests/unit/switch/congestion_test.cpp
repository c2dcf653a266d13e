// The curve's probability along the queue, and the mark in real headers.
#include "switch/qos/congestion.hpp"

#include <gtest/gtest.h>

#include "common/packet/slab_pool.hpp"
#include "common/wire/ip.hpp"

namespace vroce::sw {
namespace {

double share_hit(const CongestionCurve& curve, std::uint64_t queue_bytes) {
    Random random(11);
    int hits = 0;
    constexpr int kTries = 100'000;
    for (int i = 0; i < kTries; ++i) hits += curve.hits(queue_bytes, random) ? 1 : 0;
    return static_cast<double>(hits) / kTries;
}

TEST(CongestionCurve, RisesFromMinToMaxAndIsCertainBeyond) {
    const CongestionCurve curve(500'000, 2'000'000, 0.05);
    EXPECT_EQ(share_hit(curve, 0), 0);
    EXPECT_EQ(share_hit(curve, 500'000), 0);
    EXPECT_NEAR(share_hit(curve, 1'250'000), 0.025, 0.002);
    EXPECT_NEAR(share_hit(curve, 2'000'000), 0.05, 0.003);
    EXPECT_EQ(share_hit(curve, 2'000'001), 1);
}

TEST(CongestionCurve, AStepMarksNothingAtItsEdgeAndAllBeyond) {
    const CongestionCurve step(100'000, 100'000, 1);
    EXPECT_EQ(share_hit(step, 100'000), 0);
    EXPECT_EQ(share_hit(step, 100'001), 1);
}

TEST(CongestionCurve, TheLargestQueueDoesNotOverflow) {
    const CongestionCurve curve(0, (std::uint64_t{1} << 32) - 1, 1);
    EXPECT_NEAR(share_hit(curve, std::uint64_t{1} << 31), 0.5, 0.01);
    EXPECT_EQ(share_hit(curve, (std::uint64_t{1} << 32) - 1), 1);
}

class EcnMarking : public ::testing::Test {
protected:
    static constexpr std::uint16_t kOffset = 18;  // behind a tag
    Packet* ipv4(std::uint8_t traffic_class) {
        Packet* packet = blank();
        Ipv4Header header;
        header.traffic_class = traffic_class;
        header.total_bytes = 60;
        header.identification = 0xBEEF;
        header.protocol = kProtocolUdp;
        header.source = {10, 0, 0, 1};
        header.destination = {10, 0, 0, 2};
        header.write(std::span<std::uint8_t, 20>(packet->data + kOffset, 20));
        return packet;
    }
    Packet* ipv6(std::uint8_t traffic_class) {
        Packet* packet = blank();
        Ipv6Header header;
        header.traffic_class = traffic_class;
        header.flow_label = 0xABCDE;
        header.payload_bytes = 20;
        header.write(std::span<std::uint8_t, 40>(packet->data + kOffset, 40));
        return packet;
    }
    static std::span<const std::uint8_t> ip(const Packet& packet) {
        return {packet.data + kOffset, packet.length - kOffset};
    }

    SlabPool pool{8};

private:
    Packet* blank() {
        Packet* packet = pool.alloc();
        packet->resize(kOffset + 60);
        std::fill_n(packet->data, packet->length, std::uint8_t{0});
        packet->meta.l3_offset = kOffset;
        return packet;
    }
};

TEST_F(EcnMarking, Ipv4KeepsItsDscpAndARightChecksumForEveryTrafficClass) {
    for (unsigned traffic_class = 0; traffic_class < 256; ++traffic_class) {
        Packet* packet = ipv4(static_cast<std::uint8_t>(traffic_class));
        const unsigned ecn = traffic_class & 3;
        const EcnMark expected = ecn == 0 ? EcnMark::kNotEct : ecn == 3 ? EcnMark::kAlready : EcnMark::kMarked;
        EXPECT_EQ(mark_congestion(*packet), expected);
        const auto parsed = Ipv4Header::parse(ip(*packet));
        ASSERT_TRUE(parsed) << "checksum of traffic class " << traffic_class;
        EXPECT_EQ(parsed->traffic_class, ecn == 0 ? traffic_class : traffic_class | 3);
        release(packet);
    }
}

TEST_F(EcnMarking, Ipv6KeepsItsDscpAndFlowLabel) {
    for (unsigned traffic_class = 0; traffic_class < 256; ++traffic_class) {
        Packet* packet = ipv6(static_cast<std::uint8_t>(traffic_class));
        const unsigned ecn = traffic_class & 3;
        static_cast<void>(mark_congestion(*packet));
        const auto parsed = Ipv6Header::parse(ip(*packet));
        ASSERT_TRUE(parsed);
        EXPECT_EQ(parsed->traffic_class, ecn == 0 ? traffic_class : traffic_class | 3);
        EXPECT_EQ(parsed->flow_label, 0xABCDEu);
        release(packet);
    }
}

TEST_F(EcnMarking, WhatIsNotIpGoesOnAsItIs) {
    Packet* packet = ipv4(2);
    packet->meta.l3_offset = 0;
    EXPECT_EQ(mark_congestion(*packet), EcnMark::kNotEct);
    EXPECT_EQ(Ipv4Header::parse(ip(*packet))->traffic_class, 2);
    release(packet);
}

}  // namespace
}  // namespace vroce::sw
