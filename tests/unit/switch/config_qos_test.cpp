// The tables of priorities: what they become, what wins over what, what is refused and in which words.
#include <gtest/gtest.h>

#include "tests/unit/switch/config_text.hpp"

namespace vroce::sw {
namespace {

using namespace test;

const PortQosConfig& qos_of(const LoadedConfig& config, std::size_t port) {
    return config.core->ports[port].qos;
}

bool has_warning(const LoadedConfig& config, const std::string& line) {
    return std::find(config.warnings.begin(), config.warnings.end(), line) != config.warnings.end();
}

TEST(QosConfig, WithoutTablesEverythingIsClassZeroAndLossy) {
    const LoadedConfig config = good_config(R"({"PORT": {"E0": {}}})");
    const PortQosConfig& qos = qos_of(config, 0);
    EXPECT_EQ(qos.ingress.trust, Trust::kPort);
    EXPECT_EQ(qos.ingress.default_tc, 0);
    EXPECT_EQ(qos.flow_control.pfc_enable, 0);
    EXPECT_FALSE(qos.remark.dscp || qos.remark.pcp);
    EXPECT_EQ(qos.queues[6].scheduler.type, SchedulerType::kDwrr);
    EXPECT_FALSE(config.core->pfc_in_use);
    EXPECT_TRUE(config.core->buffers.pools.empty());
    EXPECT_TRUE(config.core->buffers.ports.empty());
    EXPECT_TRUE(config.warnings.empty());
}

TEST(QosConfig, ReadsASonicFile) {
    const Result<LoadedConfig> loaded = load_config(VROCE_TEST_DATA "/sonic-like.json");
    ASSERT_TRUE(loaded) << loaded.error();
    const PortQosConfig& first = qos_of(*loaded, 0);
    EXPECT_EQ(first.ingress.trust, Trust::kDscp) << "the port has a map for DSCP alone";
    for (unsigned dscp = 0; dscp < kDscps; ++dscp) {
        const std::map<unsigned, unsigned> others{{3, 3}, {4, 4}, {5, 2}, {8, 0}, {46, 5}, {48, 6}};
        const auto other = others.find(dscp);
        EXPECT_EQ(first.ingress.dscp_to_tc[dscp], other == others.end() ? 1 : other->second) << dscp;
    }
    EXPECT_EQ(first.ingress.tc_to_priority, (std::array<std::uint8_t, 8>{0, 0, 0, 3, 4, 0, 0, 7}));
    EXPECT_EQ(first.ingress.tc_to_queue, identity_map<8>());
    EXPECT_EQ(first.flow_control.pfc_enable, 0x18);
    EXPECT_EQ(first.flow_control.watchdog, 0x18);
    EXPECT_FALSE(first.flow_control.pfc_asymmetric);
    EXPECT_TRUE(qos_of(*loaded, 1).flow_control.pfc_asymmetric);
    EXPECT_EQ(first.queues[4].scheduler.weight, 15);
    EXPECT_EQ(first.queues[1].scheduler.weight, 14);
    EXPECT_EQ(first.queues[6].scheduler.type, SchedulerType::kStrict);
    EXPECT_TRUE(first.queues[3].wred.ecn);
    EXPECT_FALSE(first.queues[3].wred.wred) << "a lossless queue drops nothing";
    EXPECT_TRUE(first.queues[6].wred.wred);
    EXPECT_EQ(first.queues[3].wred.min_bytes, 1u << 20);
    EXPECT_EQ(first.queues[3].wred.max_bytes, 2u << 20);
    EXPECT_EQ(first.queues[3].wred.probability_percent, 5);
    EXPECT_EQ(first.max_rate_bps, 96'000'000'000u);
    const PortQosConfig& last = qos_of(*loaded, 2);
    EXPECT_EQ(last.ingress.trust, Trust::kDscpThenPcp) << "DSCP from the global entry, PCP from its own";
    EXPECT_EQ(last.ingress.pcp_to_tc, (std::array<std::uint8_t, 8>{1, 0, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(last.ingress.dscp_to_tc[46], 5);
    EXPECT_TRUE(last.remark.dscp);
    EXPECT_FALSE(last.remark.pcp);
    EXPECT_EQ(last.remark.tc_to_dscp[5], 46);
    EXPECT_EQ(last.flow_control.pfc_enable, 0);
    EXPECT_TRUE(loaded->core->pfc_in_use);
}

TEST(QosConfig, ReadsTheBuffersOfASonicFile) {
    const Result<LoadedConfig> loaded = load_config(VROCE_TEST_DATA "/sonic-like.json");
    ASSERT_TRUE(loaded) << loaded.error();
    const BufferConfig& buffers = loaded->core->buffers;
    ASSERT_EQ(buffers.pools.size(), 3u);
    EXPECT_EQ(buffers.pools[0].xoff_bytes, 4'194'112u);
    EXPECT_EQ(buffers.pools[2].mode, BufferPoolMode::kStatic);
    ASSERT_EQ(buffers.ports.size(), 3u);
    EXPECT_EQ(buffers.ports[1].cable_m, 300u);
    const auto profile = [&](std::optional<std::uint16_t> index) { return buffers.profiles[index.value()]; };
    const BufferProfileConfig lossless = profile(buffers.ports[0].pg[4]);
    EXPECT_EQ(lossless.name, "pg_lossless_100000_5m_profile");
    EXPECT_TRUE(lossless.lossless);
    EXPECT_EQ(lossless.xoff_bytes, 165'568u);
    EXPECT_EQ(lossless.xon_bytes, 2'288u);
    EXPECT_EQ(lossless.dynamic_alpha, std::int8_t{-3});
    EXPECT_FALSE(lossless.static_bytes);
    EXPECT_EQ(profile(buffers.ports[2].pg[0]).name, "ingress_lossy_profile");
    EXPECT_FALSE(buffers.ports[2].pg[3]);
    for (const unsigned group : {3u, 4u}) {  // one by "NULL", one because nothing is told
        EXPECT_TRUE(profile(buffers.ports[1].pg[group]).lossless);
        EXPECT_EQ(profile(buffers.ports[1].pg[group]).xoff_bytes, 0u) << "the buffer manager works it out";
        EXPECT_EQ(profile(buffers.ports[1].pg[group]).pool, 0);
    }
    EXPECT_EQ(profile(buffers.ports[0].queue[3]).static_bytes, 15'982'720u);
    EXPECT_EQ(profile(buffers.ports[0].queue[5]).size_bytes, 1'518u);
}

struct TrustCase {
    const char* name;
    const char* fields;
    Trust trust;
};
class TrustOfMaps : public ::testing::TestWithParam<TrustCase> {};

TEST_P(TrustOfMaps, IsWhatTheFileSaysOrWhatThePortHasMapsFor) {
    const LoadedConfig config = good_config(with_ports(
        R"("DSCP_TO_TC_MAP": {"D": {"26": "3"}}, "DOT1P_TO_TC_MAP": {"P": {"3": "3"}}, "PORT_QOS_MAP": {"E1": {)" +
        std::string(GetParam().fields) + "}}"));
    EXPECT_EQ(qos_of(config, 1).ingress.trust, GetParam().trust);
    EXPECT_EQ(qos_of(config, 0).ingress.trust, Trust::kPort);
}

INSTANTIATE_TEST_SUITE_P(
    All, TrustOfMaps,
    ::testing::Values(TrustCase{"Nothing", "", Trust::kPort},
                      TrustCase{"Dscp", R"("dscp_to_tc_map": "D")", Trust::kDscp},
                      TrustCase{"Pcp", R"("dot1p_to_tc_map": "P")", Trust::kPcp},
                      TrustCase{"Both", R"("dot1p_to_tc_map": "P", "dscp_to_tc_map": "D")", Trust::kDscpThenPcp},
                      TrustCase{"ToldPort", R"("dscp_to_tc_map": "D", "trust": "port")", Trust::kPort},
                      TrustCase{"ToldPcp", R"("dscp_to_tc_map": "D", "trust": "pcp")", Trust::kPcp},
                      TrustCase{"ToldDscp", R"("trust": "dscp")", Trust::kDscp},
                      TrustCase{"ToldDscpPcp", R"("trust": "dscp,pcp")", Trust::kDscpThenPcp},
                      TrustCase{"ToldPcpDscp", R"("trust": "pcp,dscp")", Trust::kPcpThenDscp}),
    [](const auto& refused) { return std::string(refused.param.name); });

TEST(QosConfig, MapsBeginAtZeroAndTrustWithoutAMapGoesByClassSelector) {
    const LoadedConfig config = good_config(with_ports(
        R"("DSCP_TO_TC_MAP": {"D": {"26": "3"}}, "PORT_QOS_MAP": {"E0": {"dscp_to_tc_map": "D", "default_tc": "2"},
                                                                  "E1": {"trust": "dscp,pcp"}})"));
    EXPECT_EQ(qos_of(config, 0).ingress.dscp_to_tc[26], 3);
    EXPECT_EQ(qos_of(config, 0).ingress.dscp_to_tc[27], 0);
    EXPECT_EQ(qos_of(config, 0).ingress.default_tc, 2);
    for (unsigned dscp = 0; dscp < kDscps; ++dscp) EXPECT_EQ(qos_of(config, 1).ingress.dscp_to_tc[dscp], dscp / 8);
    EXPECT_EQ(qos_of(config, 1).ingress.pcp_to_tc, identity_map<8>());
}

TEST(QosConfig, ThePortWinsOverGlobalWhereverItStands) {
    const LoadedConfig config = good_config(
        with_ports(R"("PORT_QOS_MAP": {"E0": {"pfc_enable": "4"}, "global": {"pfc_enable": "3", "default_tc": "1"}})"));
    EXPECT_EQ(qos_of(config, 0).flow_control.pfc_enable, 0x10);
    EXPECT_EQ(qos_of(config, 0).ingress.default_tc, 1);
    EXPECT_EQ(qos_of(config, 1).flow_control.pfc_enable, 0x08);
}

/// known-failures-switch.md, row 5.
TEST(QosConfig, AnySubsetOfPrioritiesIsLossless) {
    for (unsigned mask = 0; mask < 256; ++mask) {
        std::string list;
        for (unsigned p = 0; p < 8; ++p)
            if ((mask >> p & 1) != 0) list += (list.empty() ? "" : ",") + std::to_string(p);
        const LoadedConfig config =
            good_config(with_ports(R"("PORT_QOS_MAP": {"E0": {"pfc_enable": ")" + list + "\"}}"));
        EXPECT_EQ(qos_of(config, 0).flow_control.pfc_enable, mask);
        EXPECT_EQ(config.core->pfc_in_use, mask != 0);
    }
}

/// known-failures-switch.md, rows 41 and 42.
TEST(QosConfig, EcnMarksWithoutAColourSwitchAndDropsHaveTheirOwnThresholds) {
    const LoadedConfig config = good_config(with_ports(
        R"("WRED_PROFILE": {"W": {"ecn": "ecn_green", "green_min_threshold": "1000", "green_max_threshold": "2000"},
                            "X": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "1000",
                                  "green_max_threshold": "2000", "green_drop_probability": "10",
                                  "drop_green_min_threshold": "5000", "drop_green_max_threshold": "6000",
                                  "drop_green_drop_probability": "20"}},
           "QUEUE": {"E0|1": {"wred_profile": "W"}, "E0|2": {"wred_profile": "X"}})"));
    const WredConfig& marks = qos_of(config, 0).queues[1].wred;
    EXPECT_TRUE(marks.ecn);
    EXPECT_FALSE(marks.wred);
    EXPECT_EQ(marks.probability_percent, 100);
    const WredConfig& both = qos_of(config, 0).queues[2].wred;
    EXPECT_TRUE(both.ecn && both.wred);
    EXPECT_EQ(both.min_bytes, 1'000u);
    EXPECT_EQ(both.probability_percent, 10);
    EXPECT_EQ(both.drop_min_bytes, 5'000u);
    EXPECT_EQ(both.drop_max_bytes, 6'000u);
    EXPECT_EQ(both.drop_probability_percent, 20);
}

TEST(QosConfig, ThePresetIsWhatRoceWants) {
    const LoadedConfig config = good_config(with_ports(R"("VROCE_QOS": {"switch": {"preset": "roce"}})"));
    EXPECT_TRUE(config.warnings.empty()) << config.warnings.front();
    const PortQosConfig& qos = qos_of(config, 1);
    EXPECT_EQ(qos.ingress.trust, Trust::kDscpThenPcp);
    EXPECT_EQ(qos.ingress.dscp_to_tc[26], 3);
    EXPECT_EQ(qos.ingress.dscp_to_tc[48], 6);
    EXPECT_EQ(qos.ingress.dscp_to_tc[46], 5);
    EXPECT_EQ(qos.ingress.tc_to_priority, identity_map<8>());
    EXPECT_EQ(qos.flow_control.pfc_enable, 0x08);
    EXPECT_EQ(qos.queues[3].scheduler.weight, 50);
    EXPECT_EQ(qos.queues[0].scheduler.weight, 50);
    EXPECT_EQ(qos.queues[6].scheduler.type, SchedulerType::kStrict);
    EXPECT_TRUE(qos.queues[3].wred.ecn);
    EXPECT_EQ(qos.queues[3].wred.min_bytes, 150'000u);
    EXPECT_EQ(qos.queues[3].wred.max_bytes, 1'500'000u);
    EXPECT_FALSE(qos.queues[0].wred.ecn);
}

TEST(QosConfig, TheFileWinsOverThePreset) {
    const LoadedConfig config = good_config(with_ports(
        R"("VROCE_QOS": {"switch": {"preset": "roce"}}, "DSCP_TO_TC_MAP": {"D": {"26": "5"}},
           "SCHEDULER": {"S": {"weight": "7"}}, "QUEUE": {"E0|3": {"scheduler": "S"}},
           "PORT_QOS_MAP": {"E0": {"dscp_to_tc_map": "D", "pfc_enable": "5"}})"));
    EXPECT_EQ(qos_of(config, 0).ingress.dscp_to_tc[26], 5);
    EXPECT_EQ(qos_of(config, 0).ingress.trust, Trust::kDscpThenPcp) << "about trust the file says nothing";
    EXPECT_EQ(qos_of(config, 0).flow_control.pfc_enable, 0x20);
    EXPECT_EQ(qos_of(config, 0).queues[3].scheduler.weight, 7);
    EXPECT_TRUE(qos_of(config, 0).queues[3].wred.ecn) << "nor about ECN";
    EXPECT_EQ(qos_of(config, 1).flow_control.pfc_enable, 0x08);
}

TEST(QosConfig, ThePresetLeavesKernelPeersAndPausedLinksLossy) {
    const LoadedConfig config = good_config(R"({"PORT": {"E0": {}, "E1": {"link_pause": "on"}, "E2": {}},
        "VROCE_QOS": {"switch": {"preset": "roce"}}, "VROCE_PORT": {"E0": {"devargs": "net_tap0,iface=x"}}})");
    EXPECT_EQ(qos_of(config, 0).flow_control.pfc_enable, 0);
    EXPECT_EQ(qos_of(config, 0).ingress.dscp_to_tc[26], 3);
    EXPECT_EQ(qos_of(config, 1).flow_control.pfc_enable, 0);
    EXPECT_TRUE(qos_of(config, 1).flow_control.link_pause);
    EXPECT_EQ(qos_of(config, 2).flow_control.pfc_enable, 0x08);
}

TEST(QosConfig, WarnsAboutWhatIsHardlyMeant) {
    const LoadedConfig config = good_config(R"({"PORT": {"E0": {}, "E1": {}},
        "VROCE_PORT": {"E0": {"devargs": "net_af_packet0,iface=x"}},
        "SCHEDULER": {"S": {"cir": "100", "pir": "200", "colour": "red"}},
        "TC_TO_QUEUE_MAP": {"Q": {"3": "3", "2": "3"}},
        "PORT_QOS_MAP": {"E0": {"pfc_enable": "3"}, "E1": {"pfc_enable": "0"}},
        "QUEUE": {"E0|3": {}}})");
    EXPECT_TRUE(has_warning(config,
                            "sw.json: PORT_QOS_MAP|E0: pfc_enable has no effect on what net_af_packet0 brings: "
                            "a kernel interface does not obey pause"));
    EXPECT_TRUE(has_warning(config,
                            "sw.json: PORT_QOS_MAP|E1: frames without a mark are in lossless priority 0, where "
                            "nothing is flooded: broadcast, ARP too, ends here"));
    EXPECT_TRUE(has_warning(config, "sw.json: SCHEDULER: field cir has no effect in this switch (in 1 entries)"));
    EXPECT_TRUE(has_warning(config, "sw.json: SCHEDULER: field colour is not known and has no effect (in 1 entries)"));
    EXPECT_EQ(config.warnings.size(), 5u) << "and that there is no BUFFER_POOL";
}

TEST(QosConfig, WarnsAboutALossyClassInALosslessQueue) {
    const LoadedConfig config = good_config(with_ports(
        R"("TC_TO_PRIORITY_GROUP_MAP": {"G": {"3": "3"}},
           "TC_TO_QUEUE_MAP": {"Q": {"3": "3", "2": "3"}},
           "PORT_QOS_MAP": {"E0": {"tc_to_queue_map": "Q", "tc_to_pg_map": "G", "pfc_enable": "3"}})"));
    EXPECT_TRUE(has_warning(config,
                            "sw.json: PORT_QOS_MAP|E0: traffic class 2 is lossy and leaves by queue 3, which "
                            "pause of priority 3 stops"));
}

class QosRefusal : public ::testing::TestWithParam<TableRefusal> {};

TEST_P(QosRefusal, IsOneLineThatSaysWhatIsAllowed) {
    expect_refusal(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    All, QosRefusal,
    ::testing::Values(
        TableRefusal{"DscpTooLarge", R"("DSCP_TO_TC_MAP": {"A": {"64": "1"}})",
                     "sw.json: DSCP_TO_TC_MAP|A: \"64\" is no DSCP; allowed: 0..63"},
        TableRefusal{"DscpName", R"("DSCP_TO_TC_MAP": {"A": {"ef": "1"}})",
                     "sw.json: DSCP_TO_TC_MAP|A: \"ef\" is no DSCP; allowed: 0..63"},
        TableRefusal{"DscpTwice", R"("DSCP_TO_TC_MAP": {"A": {"3": "1", "03": "2"}})",
                     "sw.json: DSCP_TO_TC_MAP|A: \"03\" is no DSCP; allowed: 0..63"},
        TableRefusal{"Class", R"("DSCP_TO_TC_MAP": {"A": {"3": "8"}})",
                     "sw.json: DSCP_TO_TC_MAP|A: 3 \"8\"; allowed: 0..7"},
        TableRefusal{"Pcp", R"("DOT1P_TO_TC_MAP": {"A": {"8": "0"}})",
                     "sw.json: DOT1P_TO_TC_MAP|A: \"8\" is no PCP; allowed: 0..7"},
        TableRefusal{"Queue", R"("TC_TO_QUEUE_MAP": {"A": {"3": "q3"}})",
                     "sw.json: TC_TO_QUEUE_MAP|A: 3 \"q3\"; allowed: 0..7"},
        TableRefusal{"RewriteDscp", R"("TC_TO_DSCP_MAP": {"A": {"3": "64"}})",
                     "sw.json: TC_TO_DSCP_MAP|A: 3 \"64\"; allowed: 0..63"},
        TableRefusal{"RewriteInPart", R"("TC_TO_DOT1P_MAP": {"A": {"3": "3"}})",
                     "sw.json: TC_TO_DOT1P_MAP|A: 1 of 8 entries; allowed: all of 0..7"},
        TableRefusal{"Dangling", R"("PORT_QOS_MAP": {"E0": {"dscp_to_tc_map": "A"}})",
                     "sw.json: PORT_QOS_MAP|E0: dscp_to_tc_map \"A\"; allowed: an entry of table DSCP_TO_TC_MAP"},
        TableRefusal{
            "WrongTable",
            R"("DSCP_TO_TC_MAP": {"A": {}}, "PORT_QOS_MAP": {"E0": {"dscp_to_tc_map": "[DOT1P_TO_TC_MAP|A]"}})",
            "sw.json: PORT_QOS_MAP|E0: dscp_to_tc_map \"[DOT1P_TO_TC_MAP|A]\"; allowed: an entry of table"},
        TableRefusal{"OpenBracket",
                     R"("DSCP_TO_TC_MAP": {"A": {}}, "PORT_QOS_MAP": {"E0": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|A"}})",
                     "sw.json: PORT_QOS_MAP|E0: dscp_to_tc_map \"[DSCP_TO_TC_MAP|A\"; allowed:"},
        TableRefusal{"UnknownPort", R"("PORT_QOS_MAP": {"E0,E9": {}})",
                     "sw.json: PORT_QOS_MAP|E0,E9: unknown port \"E9\"; allowed: the entries of table PORT"},
        TableRefusal{"CommaAtTheEnd", R"("PORT_QOS_MAP": {"E0,": {}})",
                     "sw.json: PORT_QOS_MAP|E0,: unknown port \"\"; allowed:"},
        TableRefusal{"PortTwice", R"("PORT_QOS_MAP": {"E0,E1": {}, "E1": {}})",
                     "sw.json: PORT_QOS_MAP|E1: E1 is in another entry already; allowed: one entry"},
        TableRefusal{"PfcRange", R"("PORT_QOS_MAP": {"E0": {"pfc_enable": "3,8"}})",
                     "sw.json: PORT_QOS_MAP|E0: pfc_enable \"3,8\"; allowed: priorities 0..7"},
        TableRefusal{"PfcComma", R"("PORT_QOS_MAP": {"E0": {"pfc_enable": "3,"}})",
                     "sw.json: PORT_QOS_MAP|E0: pfc_enable \"3,\"; allowed: priorities 0..7"},
        TableRefusal{"PfcList", R"("PORT_QOS_MAP": {"E0": {"pfc_enable": [3]}})",
                     "sw.json: PORT_QOS_MAP|E0: pfc_enable \"[3]\"; allowed: priorities 0..7"},
        TableRefusal{"Watchdog", R"("PORT_QOS_MAP": {"E0": {"pfcwd_sw_enable": "all"}})",
                     "sw.json: PORT_QOS_MAP|E0: pfcwd_sw_enable \"all\"; allowed: priorities"},
        TableRefusal{"Trust", R"("PORT_QOS_MAP": {"E0": {"trust": "both"}})",
                     "sw.json: PORT_QOS_MAP|E0: trust \"both\"; allowed: port, pcp, dscp, dscp,pcp, pcp,dscp"},
        TableRefusal{"DefaultClass", R"("PORT_QOS_MAP": {"E0": {"default_tc": "8"}})",
                     "sw.json: PORT_QOS_MAP|E0: default_tc \"8\"; allowed: 0..7"},
        TableRefusal{"PfcToPg",
                     R"("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"A": {"3": "4"}},
                        "PORT_QOS_MAP": {"E0": {"pfc_to_pg_map": "A"}})",
                     "sw.json: PORT_QOS_MAP|E0: pfc_to_pg_map gives a priority another one's group; allowed: each"},
        TableRefusal{"PauseStopsAnotherQueue",
                     R"("MAP_PFC_PRIORITY_TO_QUEUE": {"A": {"3": "4"}},
                        "PORT_QOS_MAP": {"E0": {"pfc_to_queue_map": "A", "pfc_enable": "3"}})",
                     "sw.json: PORT_QOS_MAP|E0: traffic class 3 is in lossless priority 3 and leaves by queue 3, but "
                     "pause of that priority stops queue 4; allowed:"},
        TableRefusal{"TwoPrioritiesInAQueue",
                     R"("MAP_PFC_PRIORITY_TO_QUEUE": {"A": {"3": "3", "4": "3"}},
                        "TC_TO_QUEUE_MAP": {"Q": {"3": "3", "4": "3"}},
                        "PORT_QOS_MAP": {"E0": {"pfc_to_queue_map": "A", "tc_to_queue_map": "Q", "pfc_enable": "3,4"}})",
                     "sw.json: PORT_QOS_MAP|E0: pfc_to_queue_map has queue 3 for priorities 3 and 4"},
        TableRefusal{"Weight", R"("SCHEDULER": {"S": {"weight": "101"}})",
                     "sw.json: SCHEDULER|S: weight \"101\"; allowed: 1..100"},
        TableRefusal{"SchedulerType", R"("SCHEDULER": {"S": {"type": "FIFO"}})",
                     "sw.json: SCHEDULER|S: type \"FIFO\"; allowed: STRICT, DWRR, WRR"},
        TableRefusal{"RateInPackets", R"("SCHEDULER": {"S": {"meter_type": "packets", "pir": "100"}})",
                     "sw.json: SCHEDULER|S: meter_type \"packets\" with a pir; allowed: bytes"},
        TableRefusal{"PirBelowCir", R"("SCHEDULER": {"S": {"pir": "100", "cir": "101"}})",
                     "sw.json: SCHEDULER|S: pir \"100\" is below cir \"101\"; allowed: pir >= cir"},
        TableRefusal{"PbsBelowCbs", R"("SCHEDULER": {"S": {"pbs": "100", "cbs": "101"}})",
                     "sw.json: SCHEDULER|S: pbs \"100\" is below cbs \"101\"; allowed: pbs >= cbs"},
        TableRefusal{"QueueKey", R"("QUEUE": {"E0": {}})",
                     "sw.json: QUEUE|E0: not ports and a range; allowed: PORT[,PORT…]|N or PORT[,PORT…]|N-M"},
        TableRefusal{"QueueRange", R"("QUEUE": {"E0|4-3": {}})", "sw.json: QUEUE|E0|4-3: not ports and a range"},
        TableRefusal{"QueueEight", R"("QUEUE": {"E0|8": {}})", "sw.json: QUEUE|E0|8: not ports and a range"},
        TableRefusal{"QueuePort", R"("QUEUE": {"E7|3": {}})", "sw.json: QUEUE|E7|3: unknown port \"E7\"; allowed:"},
        TableRefusal{"QueueTwice", R"("QUEUE": {"E0|3-4": {}, "E1,E0|4": {}})",
                     "sw.json: QUEUE|E1,E0|4: E0|4 is in another entry already; allowed: one entry"},
        TableRefusal{"QueueScheduler", R"("QUEUE": {"E0|3": {"scheduler": "S"}})",
                     "sw.json: QUEUE|E0|3: scheduler \"S\"; allowed: an entry of table SCHEDULER"},
        TableRefusal{"EcnWord", R"("WRED_PROFILE": {"W": {"ecn": "on"}})",
                     "sw.json: WRED_PROFILE|W: ecn \"on\"; allowed: ecn_none, ecn_green"},
        TableRefusal{"EcnNeverMarks",
                     R"("WRED_PROFILE": {"W": {"ecn": "ecn_red", "red_min_threshold": "1", "red_max_threshold": "2"}})",
                     "sw.json: WRED_PROFILE|W: ecn would never mark, since every frame here is green; allowed:"},
        TableRefusal{"EcnWithoutThreshold", R"("WRED_PROFILE": {"W": {"ecn": "ecn_all"}})",
                     "sw.json: WRED_PROFILE|W: green_min_threshold is missing; allowed: 0..4294967295 (bytes)"},
        TableRefusal{"MaxMissing", R"("WRED_PROFILE": {"W": {"yellow_min_threshold": "10"}})",
                     "sw.json: WRED_PROFILE|W: yellow_max_threshold is missing; allowed:"},
        TableRefusal{"MaxBelowMin", R"("WRED_PROFILE": {"W": {"red_min_threshold": "10", "red_max_threshold": "9"}})",
                     "sw.json: WRED_PROFILE|W: red_max_threshold \"9\" is below red_min_threshold \"10\"; allowed:"},
        TableRefusal{"Probability", R"("WRED_PROFILE": {"W": {"green_drop_probability": "101"}})",
                     "sw.json: WRED_PROFILE|W: green_drop_probability \"101\"; allowed: 0..100 (%)"},
        TableRefusal{"PresetName", R"("VROCE_QOS": {"switch": {"preset": "fast"}})",
                     "sw.json: VROCE_QOS|switch: preset \"fast\"; allowed: none, roce"},
        TableRefusal{"PresetKey", R"("VROCE_QOS": {"sw": {"preset": "roce"}})",
                     "sw.json: VROCE_QOS|sw: unknown entry; allowed: switch"},
        TableRefusal{"CellBytes", R"("VROCE_QOS": {"switch": {"cell_bytes": "100"}})",
                     "sw.json: VROCE_QOS|switch: cell_bytes \"100\"; allowed: a power of two, 1..16384 (bytes)"},
        TableRefusal{"Headroom", R"("VROCE_QOS": {"switch": {"headroom": "large"}})",
                     "sw.json: VROCE_QOS|switch: headroom \"large\"; allowed: exact, raise"}),
    [](const auto& refused) { return std::string(refused.param.name); });

TEST(QosConfig, RefusesBothKindsOfPauseOnAPort) {
    EXPECT_EQ(
        refusal_of(R"({"PORT": {"E0": {"link_pause": "on"}}, "PORT_QOS_MAP": {"E0": {"pfc_enable": "3"}}})"),
        "sw.json: PORT_QOS_MAP|E0: pfc_enable contradicts link_pause \"on\" of table PORT; allowed: one of the two "
        "on a port");
    EXPECT_EQ(refusal_of(R"({"PORT": {"E0": {"link_pause": "rx"}}})"),
              "sw.json: PORT|E0: link_pause \"rx\"; allowed: on, off");
}

}  // namespace
}  // namespace vroce::sw
