// Priorities through the pipeline: every DSCP and PCP to its class, the trust table, what leaves marked how, and what a
// lossless priority does not flood.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/wire/ip.hpp"
#include "switch/core/ip_header.hpp"
#include "switch/l2/fdb.hpp"
#include "switch/pipeline/classify_priority.hpp"
#include "switch/pipeline/lookup.hpp"
#include "switch/pipeline/parse.hpp"
#include "switch/pipeline/remark.hpp"
#include "switch/pipeline/retag.hpp"
#include "tests/unit/switch/frames.hpp"

namespace vroce::sw {
namespace {

using namespace test;
using Bytes = std::vector<std::uint8_t>;
using Tags = std::vector<std::uint32_t>;

/// Ethernet, tags, IP with this DSCP and ECN 01, UDP to `udp_port`, 32 bytes.
Bytes ip_frame(bool v6, std::uint8_t dscp, const Tags& tags = {}, std::uint16_t udp_port = 4791) {
    Bytes bytes = bytes_of(FrameSpec{.tags = tags, .type = v6 ? kTypeIpv6 : kTypeIpv4, .payload = 0});
    const std::size_t start = bytes.size();
    const auto mark = static_cast<std::uint8_t>(dscp << 2 | 1);
    bytes.resize(start + (v6 ? 40 : 20) + 8 + 32, 0xa5);
    std::uint8_t* ip = &bytes[start];
    if (v6) {
        Ipv6Header{.traffic_class = mark, .flow_label = 0x54321, .payload_bytes = 40, .next_header = kProtocolUdp}
            .write(std::span<std::uint8_t, 40>(ip, 40));
    } else {
        Ipv4Header{.traffic_class = mark,
                   .total_bytes = 60,
                   .identification = 0xbeef,
                   .protocol = kProtocolUdp,
                   .source = {10, 0, 0, 1},
                   .destination = {10, 0, 0, 2}}
            .write(std::span<std::uint8_t, 20>(ip, 20));
    }
    write_be16(ip + (v6 ? 40 : 20) + 2, udp_port);
    return bytes;
}

Bytes arp(const Tags& tags = {}) {
    return bytes_of(FrameSpec{.tags = tags, .type = 0x0806});
}

/// DSCP d is class d / 8, PCP p is class p, xored so that a mix-up of the two shows; the port's default is 5.
ClassMaps maps(Trust trust) {
    ClassMaps maps;
    maps.trust = trust;
    maps.default_tc = 5;
    for (std::uint8_t d = 0; d < kDscps; ++d) maps.dscp_to_tc[d] = static_cast<std::uint8_t>(d / 8);
    for (std::uint8_t p = 0; p < kPcps; ++p) maps.pcp_to_tc[p] = static_cast<std::uint8_t>(p ^ 1);
    return maps;
}

class PriorityStages : public ::testing::Test {
protected:
    Frame frame_of(const Bytes& bytes) {
        Frame frame;
        frame.packet = packet_of(pool_, bytes);
        EXPECT_EQ(parse_frame(frame), ParseExit::kParsed);
        frames_.push_back(frame.packet);
        return frame;
    }
    unsigned tc_of(const Bytes& bytes, const ClassMaps& class_maps) {
        Frame frame = frame_of(bytes);
        exit_ = classify_priority_frame(frame, class_maps);
        last_ = frame.packet->meta;
        return last_.traffic_class;
    }
    void TearDown() override {
        for (Packet* packet : frames_) release(packet);
    }

    SlabPool pool_{2'048};
    std::vector<Packet*> frames_;
    PriorityExit exit_{};
    Meta last_;
};

TEST_F(PriorityStages, EveryDscpFindsItsClassInBothVersionsOfIpAndBehindTags) {
    for (const bool v6 : {false, true}) {
        for (std::uint8_t dscp = 0; dscp < kDscps; ++dscp) {
            EXPECT_EQ(tc_of(ip_frame(v6, dscp), maps(Trust::kDscp)), dscp / 8u);
            EXPECT_EQ(exit_, PriorityExit::kByDscp);
            EXPECT_EQ(last_.l3_offset, 14);
            EXPECT_EQ(tc_of(ip_frame(v6, dscp, {c_tag(10, 2)}), maps(Trust::kDscp)), dscp / 8u);
            EXPECT_EQ(last_.l3_offset, 18);
            EXPECT_EQ(tc_of(ip_frame(v6, dscp, {c_tag(10, 2), c_tag(20, 4)}), maps(Trust::kDscp)), dscp / 8u);
            EXPECT_EQ(last_.l3_offset, 22);
        }
    }
}

TEST_F(PriorityStages, EveryPcpFindsItsClassAlsoInAPriorityTag) {
    for (std::uint16_t pcp = 0; pcp < kPcps; ++pcp) {
        for (const std::uint16_t vid : std::initializer_list<std::uint16_t>{0, 10}) {
            EXPECT_EQ(tc_of(arp({c_tag(vid, pcp)}), maps(Trust::kPcp)), pcp ^ 1u);
            EXPECT_EQ(tc_of(arp({c_tag(vid, pcp, 1)}), maps(Trust::kPcp)), pcp ^ 1u) << "DEI is no part of it";
            EXPECT_EQ(tc_of(ip_frame(false, 40, {c_tag(vid, pcp), c_tag(20, 7)}), maps(Trust::kPcp)), pcp ^ 1u);
            EXPECT_EQ(exit_, PriorityExit::kByPcp);
        }
    }
    EXPECT_EQ(tc_of(arp({s_tag(7 << 13 | 10)}), maps(Trust::kPcp)), 5u) << "a service tag is none of this bridge's";
}

struct TrustCase {
    const char* name;
    Trust trust;
    unsigned untagged_ip, tagged_ip, tagged_arp, untagged_arp;
};
class TrustTable : public PriorityStages, public ::testing::WithParamInterface<TrustCase> {};

TEST_P(TrustTable, SaysWhichMarkDecides) {
    const ClassMaps class_maps = maps(GetParam().trust);
    EXPECT_EQ(tc_of(ip_frame(false, 26), class_maps), GetParam().untagged_ip);
    EXPECT_EQ(tc_of(ip_frame(true, 26), class_maps), GetParam().untagged_ip);
    EXPECT_EQ(tc_of(ip_frame(false, 26, {c_tag(10, 6)}), class_maps), GetParam().tagged_ip);
    EXPECT_EQ(tc_of(ip_frame(true, 26, {c_tag(0, 6)}), class_maps), GetParam().tagged_ip);
    EXPECT_EQ(tc_of(arp({c_tag(10, 6)}), class_maps), GetParam().tagged_arp);
    EXPECT_EQ(tc_of(bytes_of(FrameSpec{.tags = {c_tag(10, 6)}, .type = 0x8915}), class_maps), GetParam().tagged_arp)
        << "RoCE v1 has no DSCP";
    EXPECT_EQ(tc_of(arp(), class_maps), GetParam().untagged_arp);
}

// Class 3 is DSCP 26, 7 is PCP 6, 5 the port's default.
INSTANTIATE_TEST_SUITE_P(All, TrustTable,
                         ::testing::Values(TrustCase{"Port", Trust::kPort, 5, 5, 5, 5},
                                           TrustCase{"Pcp", Trust::kPcp, 5, 7, 7, 5},
                                           TrustCase{"Dscp", Trust::kDscp, 3, 3, 5, 5},
                                           TrustCase{"DscpThenPcp", Trust::kDscpThenPcp, 3, 3, 7, 5},
                                           TrustCase{"PcpThenDscp", Trust::kPcpThenDscp, 3, 7, 7, 5}),
                         [](const auto& trust_case) { return std::string(trust_case.param.name); });

TEST_F(PriorityStages, AHeaderThatIsNotWholeHasNoDscp) {
    for (const bool v6 : {false, true}) {
        const Bytes whole = ip_frame(v6, 26);
        const std::size_t needed = 14 + (v6 ? 40 : 20);
        for (std::size_t length = 14; length <= whole.size(); ++length) {
            const unsigned tc =
                tc_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}, maps(Trust::kDscpThenPcp));
            EXPECT_EQ(tc, length < needed ? 5u : 3u) << length;
            EXPECT_EQ(last_.l3_offset, length < needed ? 0 : 14);
        }
        for (const int first : {0x05, 0x35, 0x75, v6 ? 0x45 : 0x65}) {
            Bytes wrong = whole;
            wrong[14] = static_cast<std::uint8_t>(first);
            EXPECT_EQ(tc_of(wrong, maps(Trust::kDscp)), 5u) << "another version than its EtherType";
        }
    }
    Bytes options = ip_frame(false, 26);
    options[14] = 0x44;
    EXPECT_EQ(tc_of(options, maps(Trust::kDscp)), 5u) << "16 bytes are no header";
    options[14] = 0x4f;
    EXPECT_EQ(tc_of(options, maps(Trust::kDscp)), 3u) << "60 bytes are there";
    options.pop_back();
    EXPECT_EQ(tc_of(options, maps(Trust::kDscp)), 5u);
}

TEST_F(PriorityStages, ThreeTagsHideTheHeader) {
    EXPECT_EQ(tc_of(ip_frame(false, 26, {c_tag(10, 6), c_tag(20), c_tag(30)}), maps(Trust::kDscp)), 5u);
    EXPECT_EQ(tc_of(ip_frame(false, 26, {s_tag(10), c_tag(20)}), maps(Trust::kDscp)), 3u);
}

TEST_F(PriorityStages, TheClassGivesPriorityAndQueue) {
    ClassMaps class_maps = maps(Trust::kDscp);
    class_maps.tc_to_priority = {0, 0, 0, 4, 0, 0, 0, 7};
    class_maps.tc_to_queue = {7, 6, 5, 2, 3, 2, 1, 0};
    EXPECT_EQ(tc_of(ip_frame(false, 26), class_maps), 3u);
    EXPECT_EQ(last_.priority, 4);
    EXPECT_EQ(last_.queue, 2);
    EXPECT_EQ(tc_of(ip_frame(false, 8), class_maps), 1u);
    EXPECT_EQ(last_.priority, 0);
    EXPECT_EQ(last_.queue, 6);
}

TEST_F(PriorityStages, WithoutConfigurationEverythingIsClassZero) {
    for (const Bytes& bytes : {ip_frame(false, 46), ip_frame(true, 46, {c_tag(10, 7)}), arp({c_tag(10, 7)})}) {
        EXPECT_EQ(tc_of(bytes, ClassMaps{}), 0u);
        EXPECT_EQ(last_.priority, 0);
        EXPECT_EQ(last_.queue, 0);
    }
}

class RoceCounters : public PriorityStages {
protected:
    void send(const Bytes& bytes) {
        Packet* packet = packet_of(pool_, bytes);
        Burst burst(Instant{}, 0, counters_, {&packet, 1});
        parse(burst);
        classify_priority(burst, qos_, pfc_in_use_);
        frames_.push_back(packet);
    }

    static PortQosConfig lossless_three() {
        PortQosConfig qos;
        qos.ingress = maps(Trust::kDscpThenPcp);
        qos.flow_control.pfc_enable = 1 << 3;
        return qos;
    }

    PortCounters counters_;
    PortQosConfig qos_ = lossless_three();
    bool pfc_in_use_ = true;
};

TEST_F(RoceCounters, CountWhatEachPriorityBrings) {
    send(ip_frame(false, 26));
    send(ip_frame(true, 26));
    send(arp());
    EXPECT_EQ(counters_.rx_priority[3].packets, 2u);
    EXPECT_EQ(counters_.rx_priority[3].bytes, 74u + 94u);
    EXPECT_EQ(counters_.rx_priority[5].packets, 1u);
    EXPECT_EQ(counters_.rx_priority[0].packets, 0u);
}

TEST_F(RoceCounters, NameTheMarkThatPutRoceIntoALossyClass) {
    send(ip_frame(false, 26));
    EXPECT_EQ(counters_.roce_in_lossy_class(), 0u);
    send(ip_frame(false, 0));
    send(ip_frame(true, 10, {c_tag(10, 3)}));
    EXPECT_EQ(counters_.roce_in_lossy_class_dscp[0], 1u);
    EXPECT_EQ(counters_.roce_in_lossy_class_dscp[10], 1u);
    Bytes headers = ip_frame(false, 11);
    headers.resize(14 + 20 + 8);
    send(headers);
    EXPECT_EQ(counters_.roce_in_lossy_class_dscp[11], 1u) << "nothing behind UDP to tell what it is";
    send(bytes_of(FrameSpec{.tags = {c_tag(10, 2)}, .type = 0x8915}));
    EXPECT_EQ(counters_.roce_in_lossy_class(), 3u) << "PCP 2 is class 3 here";
    send(bytes_of(FrameSpec{.tags = {c_tag(10, 4)}, .type = 0x8915}));
    send(bytes_of(FrameSpec{.type = 0x8915}));
    EXPECT_EQ(counters_.roce_in_lossy_class_pcp[4], 1u);
    EXPECT_EQ(counters_.roce_in_lossy_class_pcp[0], 1u);
    qos_.ingress.trust = Trust::kPcp;
    send(ip_frame(false, 26, {c_tag(10, 7)}));
    EXPECT_EQ(counters_.roce_in_lossy_class_pcp[7], 1u);
    EXPECT_EQ(counters_.roce_in_lossy_class(), 6u);
}

TEST_F(RoceCounters, AreForRoceOnly) {
    send(ip_frame(false, 0, {}, 4790));
    Bytes fragment = ip_frame(false, 0);
    fragment[14 + 7] = 1;
    send(fragment);
    Bytes tcp = ip_frame(true, 0);
    tcp[14 + 6] = 6;
    send(tcp);
    Bytes cut = ip_frame(false, 0);
    cut.resize(14 + 20 + 7);
    send(cut);
    for (const bool v6 : {false, true}) {
        Bytes notification = ip_frame(v6, 48);
        notification[14 + (v6 ? 40 : 20) + 8] = 0x81;
        send(notification);
    }
    send(arp());
    EXPECT_EQ(counters_.roce_in_lossy_class(), 0u);
    pfc_in_use_ = false;
    send(ip_frame(false, 0));
    EXPECT_EQ(counters_.roce_in_lossy_class(), 0u) << "without PFC anywhere there is nothing to miss";
}

class RemarkStage : public PriorityStages {
protected:
    /// Through classify_priority, retag (in VLAN 10) and remark.
    Bytes leave(const Bytes& bytes, const RemarkMaps& remark_maps, bool tagged, Trust trust = Trust::kDscpThenPcp) {
        Frame frame = frame_of(bytes);
        classify_priority_frame(frame, maps(trust));
        frame.packet->meta.vlan = 10;
        const Departure departure{frame.packet, &frame};
        EXPECT_NE(retag_frame(departure, tagged), RetagExit::kInnerTagExposed);
        remark_frame(departure, remark_maps, tagged);
        return bytes_of(*frame.packet);
    }
    static RemarkMaps to_dscp(std::uint8_t dscp) {
        RemarkMaps remark_maps;
        remark_maps.dscp = true;
        remark_maps.tc_to_dscp.fill(dscp);
        return remark_maps;
    }
};

TEST_F(RemarkStage, KeepsAllMarksWithoutAMap) {
    for (const bool v6 : {false, true}) {
        for (std::uint8_t dscp = 0; dscp < kDscps; ++dscp) {
            EXPECT_EQ(leave(ip_frame(v6, dscp), {}, false), ip_frame(v6, dscp));
            EXPECT_EQ(leave(ip_frame(v6, dscp, {c_tag(10, 6, 1)}), {}, true), ip_frame(v6, dscp, {c_tag(10, 6, 1)}));
            EXPECT_EQ(leave(ip_frame(v6, dscp, {c_tag(10, 6)}), {}, false), ip_frame(v6, dscp));
        }
    }
    EXPECT_EQ(leave(arp({c_tag(0, 6, 1)}), {}, true), arp({c_tag(10, 6, 1)}));
    EXPECT_EQ(leave(arp({c_tag(10, 6), c_tag(20, 2)}), {}, true), arp({c_tag(10, 6), c_tag(20, 2)}));
}

TEST_F(RemarkStage, ANewTagCarriesThePriority) {
    EXPECT_EQ(leave(ip_frame(false, 26), {}, true), ip_frame(false, 26, {c_tag(10, 3)}));
    EXPECT_EQ(leave(ip_frame(true, 63), {}, true), ip_frame(true, 63, {c_tag(10, 7)}));
    EXPECT_EQ(leave(arp(), {}, true), arp({c_tag(10, 5)}));
    EXPECT_EQ(leave(arp({s_tag(7)}), {}, true), arp({c_tag(10, 5), s_tag(7)}));
}

TEST_F(RemarkStage, AMapRewritesThePcpAndLeavesDeiAndVid) {
    RemarkMaps remark_maps;
    remark_maps.pcp = true;
    remark_maps.tc_to_pcp = {1, 0, 2, 4, 3, 6, 7, 5};
    EXPECT_EQ(leave(ip_frame(false, 26), remark_maps, true), ip_frame(false, 26, {c_tag(10, 4)}));
    EXPECT_EQ(leave(arp({c_tag(10, 7, 1)}), remark_maps, true), arp({c_tag(10, 7, 1)})) << "class 6";
    EXPECT_EQ(leave(arp({c_tag(0, 1, 1), c_tag(20, 3)}), remark_maps, true), arp({c_tag(10, 1, 1), c_tag(20, 3)}));
    EXPECT_EQ(leave(arp({c_tag(10, 2)}), remark_maps, true), arp({c_tag(10, 4)})) << "class 3";
    EXPECT_EQ(leave(arp({c_tag(10, 2)}), remark_maps, false), arp());
}

TEST_F(RemarkStage, EveryRewriteOfADscpHasARightChecksum) {
    for (std::uint8_t from = 0; from < kDscps; ++from) {
        for (std::uint8_t to = 0; to < kDscps; to = static_cast<std::uint8_t>(to + 1)) {
            EXPECT_EQ(leave(ip_frame(false, from), to_dscp(to), false), ip_frame(false, to));
            for (Packet* packet : frames_) release(packet);
            frames_.clear();
        }
    }
    EXPECT_EQ(leave(ip_frame(true, 63), to_dscp(1), false), ip_frame(true, 1));
    EXPECT_EQ(leave(ip_frame(true, 0), to_dscp(62), false), ip_frame(true, 62));
}

TEST_F(RemarkStage, ARewriteFindsTheHeaderWhereverTheTagsAreNow) {
    EXPECT_EQ(leave(ip_frame(false, 26), to_dscp(8), true), ip_frame(false, 8, {c_tag(10, 3)}));
    EXPECT_EQ(leave(ip_frame(true, 26, {c_tag(10, 6)}), to_dscp(8), false), ip_frame(true, 8));
    EXPECT_EQ(leave(ip_frame(false, 26, {c_tag(10, 6), c_tag(20)}), to_dscp(8), true),
              ip_frame(false, 8, {c_tag(10, 6), c_tag(20)}));
    EXPECT_EQ(leave(arp(), to_dscp(8), false), arp());
}

TEST_F(RemarkStage, AWrongChecksumStaysWrong) {
    Bytes wrong = ip_frame(false, 26);
    wrong[14 + 10] ^= 0x55;
    const Bytes out = leave(wrong, to_dscp(8), false);
    EXPECT_NE(internet_checksum(std::span(out).subspan(14, 20)), 0);
}

TEST_F(PriorityStages, ALosslessPriorityIsNeverFlooded) {
    Fdb fdb(1);
    VlanTable vlans;
    for (PortId port = 0; port < 3; ++port) vlans.add_member(1, port, false);
    const auto exit = [&](Mac destination, std::uint8_t priority) {
        Frame frame = frame_of(bytes_of(FrameSpec{.destination = destination}));
        frame.packet->meta.vlan = 1;
        frame.packet->meta.priority = priority;
        return lookup_outputs(Instant{}, 0, frame, fdb, vlans, 7, 1 << 3);
    };
    EXPECT_EQ(exit(kStationB, 3), LookupExit::kUnknownLossless);
    EXPECT_EQ(exit(kStationB, 2), LookupExit::kFlood);
    EXPECT_EQ(exit(kBroadcast, 3), LookupExit::kBroadcastLossless);
    EXPECT_EQ(exit(kBroadcast, 4), LookupExit::kFlood);
    EXPECT_EQ(exit(0x0100'5e00'0001, 3), LookupExit::kFlood) << "multicast goes to its members";
    static_cast<void>(fdb.learn(Instant{}, 1, kStationB, 2));
    EXPECT_EQ(exit(kStationB, 3), LookupExit::kForward);
}

}  // namespace
}  // namespace vroce::sw
