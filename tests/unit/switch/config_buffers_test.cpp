// The tables of buffers, and the buffers of a file that does not speak of them.
#include <gtest/gtest.h>

#include "pfc/headroom.hpp"
#include "switch/mmu/plan.hpp"
#include "tests/unit/switch/config_text.hpp"

namespace vroce::sw {
namespace {

using namespace test;

constexpr const char* kPools =
    R"("BUFFER_POOL": {"in": {"type": "ingress", "mode": "dynamic", "size": "1000000"},
                       "out": {"type": "egress", "mode": "static", "size": "1000000"}})";

std::string with_pools(const std::string& tables) {
    return with_ports(std::string(kPools) + ", " + tables);
}

const BufferProfileConfig& group(const LoadedConfig& config, std::size_t port, unsigned g) {
    return config.core->buffers.profiles[config.core->buffers.ports[port].pg[g].value()];
}
const BufferProfileConfig& queue(const LoadedConfig& config, std::size_t port, unsigned q) {
    return config.core->buffers.profiles[config.core->buffers.ports[port].queue[q].value()];
}

/// The plan with what the ports' links need when their rings hold so many frames.
Result<BufferPlan> plan_of(const LoadedConfig& config, std::uint32_t ring_slots = 256) {
    std::vector<std::uint64_t> needed;
    for (std::size_t p = 0; p < config.core->ports.size(); ++p) {
        const PortConfig& port = config.core->ports[p];
        needed.push_back(headroom({.speed_bps = port.speed_bps,
                                   .mtu_bytes = port.mtu_bytes,
                                   .cable_meters = std::max(config.core->buffers.ports[p].cable_m, 40u),
                                   .ring_slots = ring_slots,
                                   .peer_burst_frames = 32})
                             .total_bytes());
    }
    return plan_buffers(*config.core, needed);
}

TEST(BufferTables, AProfileWithXoffIsLossless) {
    const LoadedConfig config = good_config(with_pools(
        R"("BUFFER_PROFILE": {"a": {"pool": "in", "size": "100", "dynamic_th": "-8", "xoff": "5000", "xon": "10",
                                    "xon_offset": "20"},
                              "b": {"pool": "[BUFFER_POOL|out]", "static_th": "7"},
                              "c": {"pool": "in", "dynamic_th": "7", "headroom_type": "dynamic"}},
           "PORT_QOS_MAP": {"E0,E1": {"pfc_enable": "3,4"}},
           "BUFFER_PG": {"E0|3": {"profile": "a"}, "E0,E1|4": {"profile": "c"}, "E1|3": {"profile": "NULL"}},
           "BUFFER_QUEUE": {"E0,E1|0-7": {"profile": "b"}})"));
    EXPECT_EQ(group(config, 0, 3).dynamic_alpha, std::int8_t{-8});
    EXPECT_EQ(group(config, 0, 3).size_bytes, 100u);
    EXPECT_EQ(group(config, 0, 3).xoff_bytes, 5'000u);
    EXPECT_EQ(group(config, 0, 3).xon_bytes, 10u);
    EXPECT_EQ(group(config, 0, 3).xon_offset_bytes, 20u);
    EXPECT_TRUE(group(config, 0, 3).lossless);
    EXPECT_TRUE(group(config, 1, 4).lossless) << "headroom_type dynamic: the switch works it out";
    EXPECT_EQ(group(config, 1, 4).xoff_bytes, 0u);
    EXPECT_EQ(group(config, 1, 3).name, "pg_lossless_profile");
    EXPECT_FALSE(queue(config, 1, 7).lossless);
    EXPECT_EQ(queue(config, 1, 7).static_bytes, 7u);
    EXPECT_FALSE(config.core->buffers.ports[0].pg[0]) << "nothing is told about it";
    EXPECT_TRUE(config.warnings.empty()) << config.warnings.front();
}

TEST(BufferTables, SettingsOfTheSwitch) {
    const LoadedConfig config =
        good_config(with_ports(R"("VROCE_QOS": {"switch": {"cell_bytes": "1", "headroom": "exact"}})"));
    EXPECT_EQ(config.core->buffers.cell_bytes, 1u);
    EXPECT_TRUE(config.core->buffers.headroom_exact);
    EXPECT_EQ(good_config(with_ports(R"("VROCE_QOS": {})")).core->buffers.cell_bytes, 256u);
}

TEST(BufferTables, ThePresetHasRoomForAllItsHeadroom) {
    for (const std::size_t ports : {1u, 2u, 33u, 64u}) {
        std::string table;
        for (std::size_t i = 0; i < ports; ++i) table += (i == 0 ? "\"E" : ", \"E") + std::to_string(i) + "\": {}";
        const LoadedConfig config =
            good_config("{\"PORT\": {" + table + R"(}, "VROCE_QOS": {"switch": {"preset": "roce"}}})");
        EXPECT_TRUE(config.warnings.empty());
        const Result<BufferPlan> plan = plan_of(config);
        ASSERT_TRUE(plan) << plan.error();
        EXPECT_GE(plan->limits.pools[0].shared_bytes, std::max<std::uint64_t>(ports << 19, 4 << 20))
            << "and a share for every port";
        EXPECT_TRUE(plan->raised.empty());
        const PortBufferLimits& limits = plan->limits.ports[0];
        for (unsigned i = 0; i < 8; ++i) {
            ASSERT_TRUE(limits.groups[i] && limits.queues[i]) << i;
            EXPECT_EQ(limits.groups[i]->lossless(), i == 3) << i;
            EXPECT_EQ(limits.groups[i]->pool, i == 3 ? 0 : 1) << "lossy frames take no room from lossless ones";
            EXPECT_EQ(limits.queues[i]->pool, i == 3 ? 2 : 3) << i;
        }
    }
}

TEST(BufferTables, ALongRingMakesThePoolLarger) {
    const LoadedConfig config =
        good_config(R"({"PORT": {"E0": {}, "E1": {}}, "VROCE_QOS": {"switch": {"preset": "roce"}},
        "VROCE_PORT": {"E0": {"devargs": "net_memif0,socket=/x,rsize=12"}, "E1": {"devargs": "net_memif1,rsize=12,socket=/y"}}})");
    EXPECT_TRUE(plan_of(config, 4'096));
    EXPECT_FALSE(plan_of(good_config(with_ports(R"("VROCE_QOS": {"switch": {"preset": "roce"}})")), 4'096));
}

TEST(BufferTables, ALongCableMakesThePoolLarger) {
    const auto pool_bytes = [](const std::string& cable) {
        return good_config(with_ports(R"("VROCE_QOS": {"switch": {"preset": "roce"}},
                                         "CABLE_LENGTH": {"AZURE": {"E0": ")" +
                                      cable + "\"}}"))
            .core->buffers.pools[0]
            .size_bytes;
    };
    EXPECT_GT(pool_bytes("40000m"), pool_bytes("5m") + 2 * 40'000 * std::uint64_t{1'250'000'000} / 200'000'000 / 2);
}

/// known-failures-switch.md, row 13: PFC without headroom.
TEST(BufferTables, PfcWithoutBuffersGetsTheDefault) {
    const LoadedConfig config = good_config(with_ports(R"("PORT_QOS_MAP": {"E0": {"pfc_enable": "2,5"}})"));
    ASSERT_EQ(config.warnings.size(), 1u);
    EXPECT_EQ(config.warnings[0].rfind("sw.json: there is no BUFFER_POOL: the lossless classes have ", 0), 0u);
    EXPECT_TRUE(group(config, 0, 2).lossless);
    EXPECT_TRUE(group(config, 0, 5).lossless);
    EXPECT_FALSE(group(config, 0, 3).lossless);
    EXPECT_FALSE(group(config, 1, 2).lossless) << "PFC is the other port's";
    EXPECT_EQ(queue(config, 1, 2).name, "egress_lossless_profile")
        << "what came in lossless is not dropped at its exit";
    EXPECT_TRUE(plan_of(config));
}

/// known-failures-switch.md, row 19: 802.3x needs thresholds to pause by.
TEST(BufferTables, LinkPauseMakesTheGroupsInUseLossless) {
    const LoadedConfig config = good_config(R"({"PORT": {"E0": {"link_pause": "on"}, "E1": {"link_pause": "on"}},
                                                "PORT_QOS_MAP": {"E1": {"trust": "dscp"}}})");
    EXPECT_TRUE(group(config, 0, 0).lossless);
    EXPECT_FALSE(group(config, 0, 1).lossless) << "all frames of this port are in class 0";
    EXPECT_TRUE(group(config, 1, 7).lossless);
    EXPECT_EQ(queue(config, 0, 7).name, "egress_lossless_profile");
}

TEST(BufferTables, TheFilesPoolsReplaceThePresets) {
    const LoadedConfig config = good_config(with_ports(
        R"("VROCE_QOS": {"switch": {"preset": "roce"}},
           "BUFFER_POOL": {"in": {"type": "both", "mode": "static", "size": "12000000"}})"));
    ASSERT_EQ(config.core->buffers.pools.size(), 1u);
    EXPECT_TRUE(group(config, 0, 3).lossless) << "PFC needs it";
    EXPECT_EQ(group(config, 0, 3).static_bytes, 12'000'000u);
    EXPECT_FALSE(config.core->buffers.ports[0].pg[0]);
}

/// As when somebody switches PFC on while the switch runs.
TEST(BufferTables, ThePresetsLossyGroupBecomesLosslessWithItsPriority) {
    LoadedConfig config = good_config(with_ports(R"("VROCE_QOS": {"switch": {"preset": "roce"}})"));
    auto changed = std::make_shared<SwitchConfig>(*config.core);
    changed->ports[0].qos.flow_control.pfc_enable = 1 << 5;
    config.core = changed;
    const Result<BufferPlan> plan = plan_of(config);
    ASSERT_TRUE(plan) << plan.error();
    const PortBufferLimits& limits = plan->limits.ports[0];
    EXPECT_TRUE(limits.groups[5]->lossless());
    EXPECT_EQ(limits.groups[5]->pool, 0);
    EXPECT_FALSE(limits.groups[3]->lossless());
    EXPECT_FALSE(plan->limits.ports[1].queues[5]) << "a lossless queue does not drop by what others leave";
    EXPECT_TRUE(limits.queues[4]);
}

TEST(BufferTables, AProfileOfThePresetCanBeReplaced) {
    const LoadedConfig config = good_config(with_ports(
        R"("VROCE_QOS": {"switch": {"preset": "roce"}},
           "BUFFER_PROFILE": {"egress_lossy_profile": {"pool": "egress_lossy_pool", "dynamic_th": "-2"}})"));
    EXPECT_EQ(queue(config, 0, 0).dynamic_alpha, std::int8_t{-2});
    EXPECT_EQ(queue(config, 0, 3).name, "egress_lossless_profile");
}

TEST(BufferTables, WarnsAboutHeadroomThatNobodyPauses) {
    const LoadedConfig config = good_config(with_pools(
        R"("BUFFER_PROFILE": {"a": {"pool": "in", "dynamic_th": "0", "xoff": "5000"}}, "BUFFER_PG": {"E0|3": {"profile": "a"}})"));
    ASSERT_EQ(config.warnings.size(), 1u);
    EXPECT_EQ(config.warnings[0], "sw.json: BUFFER_PG|E0|3: lossless, but without pfc_enable the peer is never paused");
}

TEST(BufferTables, APoolWithoutASizeIsSizedForThePorts) {
    const LoadedConfig config =
        good_config(with_ports(R"("BUFFER_POOL": {"in": {"type": "ingress", "mode": "dynamic", "percentage": "50"}})"));
    EXPECT_EQ(config.core->buffers.pools[0].size_bytes, 4u << 20);
    ASSERT_EQ(config.warnings.size(), 2u);
    EXPECT_EQ(config.warnings[0], "sw.json: BUFFER_POOL|in: there is no size: it has 4194304 bytes");
}

class BufferRefusal : public ::testing::TestWithParam<TableRefusal> {};

TEST_P(BufferRefusal, IsOneLineThatSaysWhatIsAllowed) {
    expect_refusal(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    All, BufferRefusal,
    ::testing::Values(
        TableRefusal{"PoolType", R"("BUFFER_POOL": {"p": {"type": "middle"}})",
                     "sw.json: BUFFER_POOL|p: type \"middle\"; allowed: ingress, egress, both"},
        TableRefusal{"PoolMode", R"("BUFFER_POOL": {"p": {"mode": "auto"}})",
                     "sw.json: BUFFER_POOL|p: mode \"auto\"; allowed: static, dynamic"},
        TableRefusal{"PoolSize", R"("BUFFER_POOL": {"p": {"size": "1G"}})",
                     "sw.json: BUFFER_POOL|p: size \"1G\"; allowed: 0..1099511627776 (bytes)"},
        TableRefusal{"PoolWithoutType", R"("BUFFER_POOL": {"p": {"size": "1", "mode": "static"}})",
                     "sw.json: BUFFER_POOL|p: type is missing; allowed: ingress, egress, both"},
        TableRefusal{"PoolWithoutMode", R"("BUFFER_POOL": {"p": {"size": "1", "type": "both"}})",
                     "sw.json: BUFFER_POOL|p: mode is missing; allowed: static, dynamic"},
        TableRefusal{"ProfileDangling", R"("BUFFER_PROFILE": {"a": {"pool": "p", "dynamic_th": "0"}})",
                     "sw.json: BUFFER_PROFILE|a: pool \"p\"; allowed: an entry of table BUFFER_POOL"},
        TableRefusal{"ProfileWithoutPool", R"("BUFFER_PROFILE": {"a": {"dynamic_th": "0"}})",
                     "sw.json: BUFFER_PROFILE|a: pool is missing; allowed: an entry of table BUFFER_POOL"},
        TableRefusal{"GroupDangling", R"("BUFFER_PG": {"E0|3": {"profile": "a"}})",
                     "sw.json: BUFFER_PG|E0|3: profile \"a\"; allowed: an entry of table BUFFER_PROFILE"},
        TableRefusal{"GroupWithoutProfile", R"("BUFFER_PG": {"E0|3": {}})",
                     "sw.json: BUFFER_PG|E0|3: profile is missing; allowed: an entry of table BUFFER_PROFILE"},
        TableRefusal{"GroupWithoutPool", R"("BUFFER_PG": {"E0|3": {"profile": "NULL"}})",
                     "sw.json: BUFFER_PG|E0|3: profile \"NULL\" without an ingress pool; allowed: a BUFFER_POOL"},
        TableRefusal{"QueueAutomatic", R"("BUFFER_QUEUE": {"E0|3": {"profile": "NULL"}})",
                     "sw.json: BUFFER_QUEUE|E0|3: profile \"NULL\"; allowed: an entry of table BUFFER_PROFILE"},
        TableRefusal{"GroupKey", R"("BUFFER_PG": {"E0|3-9": {}})",
                     "sw.json: BUFFER_PG|E0|3-9: not ports and a range; allowed:"},
        TableRefusal{"CableZero", R"("CABLE_LENGTH": {"AZURE": {"E0": "0m"}})",
                     "sw.json: CABLE_LENGTH|AZURE: E0 \"0m\"; allowed: 1m..300000m"},
        TableRefusal{"CableUnit", R"("CABLE_LENGTH": {"AZURE": {"E0": "40"}})",
                     "sw.json: CABLE_LENGTH|AZURE: E0 \"40\"; allowed: 1m..300000m"},
        TableRefusal{"CablePort", R"("CABLE_LENGTH": {"AZURE": {"E5": "40m"}})",
                     "sw.json: CABLE_LENGTH|AZURE: unknown port \"E5\"; allowed: the entries of table PORT"},
        TableRefusal{"CableTwice", R"("CABLE_LENGTH": {"A": {"E0": "40m"}, "B": {"E0": "5m"}})",
                     "sw.json: CABLE_LENGTH|B: E0 is in another entry already; allowed: one entry"}),
    [](const auto& refused) { return std::string(refused.param.name); });

class BufferContradiction : public ::testing::TestWithParam<TableRefusal> {};

TEST_P(BufferContradiction, IsRefused) {
    const std::string message = refusal_of(with_pools(GetParam().tables));
    EXPECT_EQ(message.substr(0, std::string(GetParam().message).size()), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, BufferContradiction,
    ::testing::Values(
        TableRefusal{"TwoThresholds", R"("BUFFER_PROFILE": {"a": {"pool": "in", "dynamic_th": "0", "static_th": "1"}})",
                     "sw.json: BUFFER_PROFILE|a: dynamic_th and static_th; allowed: one of the two"},
        TableRefusal{"NoThreshold", R"("BUFFER_PROFILE": {"a": {"pool": "in"}})",
                     "sw.json: BUFFER_PROFILE|a: dynamic_th or static_th is missing; allowed: one of the two"},
        TableRefusal{"Exponent", R"("BUFFER_PROFILE": {"a": {"pool": "in", "dynamic_th": "8"}})",
                     "sw.json: BUFFER_PROFILE|a: dynamic_th \"8\"; allowed: -8..7"},
        TableRefusal{"ExponentMinus", R"("BUFFER_PROFILE": {"a": {"pool": "in", "dynamic_th": "-"}})",
                     "sw.json: BUFFER_PROFILE|a: dynamic_th \"-\"; allowed: -8..7"},
        TableRefusal{"ExponentLow", R"("BUFFER_PROFILE": {"a": {"pool": "in", "dynamic_th": "-9"}})",
                     "sw.json: BUFFER_PROFILE|a: dynamic_th \"-9\"; allowed: -8..7"},
        TableRefusal{"XoffAtEgress", R"("BUFFER_PROFILE": {"a": {"pool": "out", "static_th": "0", "xoff": "1"}})",
                     "sw.json: BUFFER_PROFILE|a: xoff in pool \"out\" of type egress; allowed: ingress, both"},
        TableRefusal{"Trim",
                     R"("BUFFER_PROFILE": {"a": {"pool": "in", "static_th": "0", "packet_discard_action": "trim"}})",
                     "sw.json: BUFFER_PROFILE|a: packet_discard_action \"trim\"; allowed: drop"},
        TableRefusal{
            "GroupAtEgress",
            R"("BUFFER_PROFILE": {"a": {"pool": "out", "static_th": "0"}}, "BUFFER_PG": {"E0|0": {"profile": "a"}})",
            "sw.json: BUFFER_PG|E0|0: profile \"a\" is in pool \"out\" of type egress; allowed: ingress, both"},
        TableRefusal{
            "QueueAtIngress",
            R"("BUFFER_PROFILE": {"a": {"pool": "in", "static_th": "0"}}, "BUFFER_QUEUE": {"E0|0": {"profile": "a"}})",
            "sw.json: BUFFER_QUEUE|E0|0: profile \"a\" is in pool \"in\" of type ingress; allowed: egress, both"},
        TableRefusal{"GroupTwice",
                     R"("BUFFER_PROFILE": {"a": {"pool": "in", "static_th": "0"}},
                        "BUFFER_PG": {"E0|0-2": {"profile": "a"}, "E0|2": {"profile": "a"}})",
                     "sw.json: BUFFER_PG|E0|2: E0|2 is in another entry already; allowed: one entry"},
        TableRefusal{
            "PfcWithoutHeadroom",
            R"("BUFFER_PROFILE": {"a": {"pool": "in", "static_th": "0"}}, "BUFFER_PG": {"E0|3": {"profile": "a"}},
                        "PORT_QOS_MAP": {"E0": {"pfc_enable": "3"}})",
            "sw.json: BUFFER_PG|E0|3: profile \"a\" has no headroom, but pfc_enable of the port needs it; "
            "allowed: a profile with xoff"},
        TableRefusal{"Oversubscribed",
                     R"("BUFFER_PROFILE": {"a": {"pool": "in", "static_th": "0", "size": "300000"}},
                        "BUFFER_PG": {"E0,E1|0-1": {"profile": "a"}})",
                     "sw.json: BUFFER_POOL|in: size \"1000000\" is less than the 1200000 bytes"}),
    [](const auto& refused) { return std::string(refused.param.name); });

TEST(Examples, AreGoodAndWithoutWarnings) {
    for (const char* name : {"roce.json", "two-vlans.json"}) {
        const Result<LoadedConfig> config = load_config(std::string(VROCE_CONFIGS "/switch/") + name);
        ASSERT_TRUE(config) << config.error();
        EXPECT_TRUE(config->warnings.empty()) << config->warnings.front();
    }
}

TEST(Examples, RoceIsThePresetWithItsChanges) {
    const Result<LoadedConfig> config = load_config(VROCE_CONFIGS "/switch/roce.json");
    ASSERT_TRUE(config) << config.error();
    EXPECT_TRUE(plan_of(*config));
    for (const PortConfig& port : config->core->ports) EXPECT_EQ(port.qos.flow_control.pfc_enable, 0x08);
    EXPECT_EQ(config->core->ports[2].qos.max_rate_bps, 5'000'000'000u);
    EXPECT_EQ(config->core->ports[0].qos.max_rate_bps, 0u);
    EXPECT_EQ(config->core->ports[3].qos.ingress.trust, Trust::kPcpThenDscp);
    EXPECT_EQ(config->core->buffers.ports[3].cable_m, 300u);
}

}  // namespace
}  // namespace vroce::sw
