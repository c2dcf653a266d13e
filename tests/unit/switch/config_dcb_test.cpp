// What dcb's words change in a port's configuration, and that what is shown is what was set.
#include "switch/config/dcb.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace vroce::sw {
namespace {

constexpr PortId kPort = 1;

class DcbTest : public ::testing::Test {
protected:
    DcbTest() {
        for (const char* name : {"Ethernet0", "Ethernet4"}) {
            PortConfig port;
            port.name = name;
            config_.ports.push_back(port);
        }
    }
    /// "pfc set prio-pfc 3:on"; the refusal, or "" and the configuration has changed.
    std::string say(const std::string& line) {
        std::istringstream in(line);
        std::vector<std::string> words;
        for (std::string word; in >> word;) words.push_back(word);
        const auto request = parse_dcb_words(words.at(0), words.at(1), std::span(words).subspan(2));
        if (!request) return request.error();
        auto change = apply_dcb(config_, kPort, *request);
        if (!change) return change.error();
        config_ = std::move(change->config);
        notes_ = std::move(change->notes);
        return "";
    }
    DcbTables shown(const std::string& object) const { return *show_dcb(config_, kPort, object); }
    PortQosConfig& qos(PortId port = kPort) { return config_.ports[port].qos; }

    SwitchConfig config_;
    std::vector<std::string> notes_;
};

TEST_F(DcbTest, PfcChangesTheNamedPrioritiesOfThePortAlone) {
    qos().flow_control.pfc_enable = 1 << 4;
    ASSERT_EQ(say("pfc set prio-pfc 3:on"), "");
    EXPECT_EQ(qos().flow_control.pfc_enable, 1 << 3 | 1 << 4);
    EXPECT_EQ(qos(0).flow_control.pfc_enable, 0);
    EXPECT_TRUE(config_.pfc_in_use);
    ASSERT_EQ(say("pfc set prio-pfc all:off"), "");
    EXPECT_EQ(qos().flow_control.pfc_enable, 0);
    EXPECT_FALSE(config_.pfc_in_use) << "no port has it any more";
}

TEST_F(DcbTest, PfcIsRefusedOnAPortOfLinkPause) {
    qos().flow_control.link_pause = true;
    EXPECT_EQ(say("pfc set prio-pfc 3:on"),
              "Ethernet4: prio-pfc: the port has 802.3x pause, which excludes PFC; allowed: all:off");
    EXPECT_EQ(say("pfc set prio-pfc all:off"), "");
}

TEST_F(DcbTest, EtsSharesOfTheEtsTcsSumTo100) {
    ASSERT_EQ(say("ets set tc-tsa all:strict 0:ets 3:ets tc-bw all:0 0:30 3:70 prio-tc 5:3"), "");
    EXPECT_EQ(qos().queues[0].scheduler.type, SchedulerType::kDwrr);
    EXPECT_EQ(qos().queues[3].scheduler.weight, 70);
    EXPECT_EQ(qos().queues[6].scheduler.type, SchedulerType::kStrict);
    EXPECT_EQ(qos().ingress.tc_to_queue[5], 3);
    const PortQosConfig before = qos();
    EXPECT_EQ(say("ets set tc-bw all:0 0:30 3:60"),
              "Ethernet4: tc-bw: the shares of the ets TCs sum to 90; allowed: 100 (802.1Q 37.3)");
    EXPECT_EQ(say("ets set tc-bw all:0 0:30 3:60 6:10"),
              "Ethernet4: tc-bw 6:10: TC 6 is strict and has no share; allowed: 0");
    EXPECT_EQ(qos().queues[3].scheduler.weight, before.queues[3].scheduler.weight) << "whole or not at all";
    EXPECT_EQ(shown("ets")["tc-bw"][3], 70u);
    EXPECT_EQ(shown("ets")["tc-bw"][6], 0u);
    EXPECT_EQ(shown("ets")["tc-tsa"][3], kTsaEts);
    EXPECT_EQ(shown("ets")["tc-tsa"][6], kTsaStrict);
}

TEST_F(DcbTest, AnAppEntryIsTrustedAndADeletedOneHasThePortsDefault) {
    ASSERT_EQ(say("app add default-prio 1"), "");
    EXPECT_EQ(qos().ingress.trust, Trust::kPort);
    ASSERT_EQ(say("app add dscp-prio AF31:3"), "");
    EXPECT_EQ(qos().ingress.dscp_to_tc[26], 3);
    EXPECT_EQ(qos().ingress.trust, Trust::kDscp);
    EXPECT_EQ(notes_, std::vector<std::string>{"Ethernet4: the port now trusts dscp too (dcb apptrust)"});
    ASSERT_EQ(say("app add pcp-prio 3:3"), "");
    EXPECT_EQ(qos().ingress.trust, Trust::kDscpThenPcp);
    ASSERT_EQ(say("app replace dscp-prio AF31:4"), "");
    EXPECT_TRUE(notes_.empty()) << "it was trusted";
    ASSERT_EQ(say("app del dscp-prio AF31:3"), "");
    EXPECT_EQ(qos().ingress.dscp_to_tc[26], 4) << "there is no such entry";
    ASSERT_EQ(say("app del dscp-prio AF31:4"), "");
    EXPECT_EQ(qos().ingress.dscp_to_tc[26], 1);
    EXPECT_EQ(shown("app")["default-prio"][0], 1u);
}

TEST_F(DcbTest, AFlushIsOfTheNamedTablesOrOfAll) {
    ASSERT_EQ(say("app add dscp-prio 26:3 pcp-prio 3:3 default-prio 2"), "");
    ASSERT_EQ(say("app flush dscp-prio"), "");
    EXPECT_EQ(qos().ingress.dscp_to_tc[26], 2);
    EXPECT_EQ(qos().ingress.pcp_to_tc[3], 3);
    ASSERT_EQ(say("app flush"), "");
    EXPECT_EQ(qos().ingress.default_tc, 0);
}

TEST_F(DcbTest, ApptrustIsAnOrder) {
    for (const auto& [words, trust] :
         {std::pair("dscp", Trust::kDscp), std::pair("pcp", Trust::kPcp), std::pair("dscp pcp", Trust::kDscpThenPcp),
          std::pair("pcp dscp", Trust::kPcpThenDscp)}) {
        ASSERT_EQ(say(std::string("apptrust set order ") + words), "") << words;
        EXPECT_EQ(qos().ingress.trust, trust) << words;
    }
    EXPECT_EQ(shown("apptrust")["order"], (std::map<unsigned, std::uint64_t>{{0, 1}, {1, 0}}));
}

TEST_F(DcbTest, ARewriteChangesOnlyWhatIsNamedAndGoesWithAFlush) {
    EXPECT_TRUE(shown("rewr").empty());
    ASSERT_EQ(say("rewr add prio-dscp 3:AF31"), "");
    EXPECT_TRUE(qos().remark.dscp);
    EXPECT_FALSE(qos().remark.pcp);
    EXPECT_EQ(qos().remark.tc_to_dscp[3], 26);
    EXPECT_EQ(qos().remark.tc_to_dscp[5], 5);
    ASSERT_EQ(say("rewr add prio-pcp 3:7"), "");
    EXPECT_EQ(shown("rewr")["prio-pcp"][3], 7u);
    ASSERT_EQ(say("rewr del prio-dscp 3:AF31"), "");
    EXPECT_EQ(qos().remark.tc_to_dscp[3], 3);
    ASSERT_EQ(say("rewr flush prio-dscp"), "");
    EXPECT_FALSE(qos().remark.dscp);
    EXPECT_TRUE(qos().remark.pcp);
}

TEST_F(DcbTest, BufferSizesGetAProfileOfTheirOwn) {
    BufferConfig& buffers = config_.buffers;
    buffers.pools.push_back({});
    BufferProfileConfig shared;
    shared.name = "pg_lossless";
    shared.size_bytes = 1'000;
    buffers.profiles.push_back(shared);
    buffers.ports.resize(2);
    for (auto& port : buffers.ports) port.pg[3] = std::uint16_t{0};
    ASSERT_EQ(say("buffer set buffer-size 3:64K prio-buffer 5:3"), "");
    ASSERT_EQ(say("buffer set buffer-size 3:32K"), "");
    EXPECT_EQ(config_.buffers.profiles.size(), 2u) << "the second change is of the same profile";
    EXPECT_EQ(config_.buffers.profiles[*config_.buffers.ports[1].pg[3]].size_bytes, 32'768u);
    EXPECT_EQ(config_.buffers.profiles[*config_.buffers.ports[0].pg[3]].size_bytes, 1'000u) << "another port's";
    EXPECT_EQ(qos().ingress.tc_to_priority[5], 3);
    EXPECT_EQ(shown("buffer")["prio-buffer"][5], 3u);
}

TEST_F(DcbTest, MaxrateIsTheQueuesShaper) {
    ASSERT_EQ(say("maxrate set tc-maxrate 0:25Gbit"), "");
    EXPECT_EQ(qos().queues[0].scheduler.max_rate_bps, 25'000'000'000u);
    EXPECT_EQ(shown("maxrate")["tc-maxrate"][0], 25'000'000'000u);
    EXPECT_EQ(shown("maxrate")["tc-maxrate"][1], 0u);
}

TEST_F(DcbTest, AnUnknownObjectIsToldWhatThereIs) {
    const auto tables = show_dcb(config_, kPort, "cee");
    ASSERT_FALSE(tables);
    EXPECT_EQ(tables.error().substr(0, 31), "unknown object 'cee'; allowed: ");
}

}  // namespace
}  // namespace vroce::sw
