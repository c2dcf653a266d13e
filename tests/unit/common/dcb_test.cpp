// iproute2's dcb words: what they mean, and what is refused in one line that says what is allowed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "common/dcb/dcb_request.hpp"

namespace vroce {
namespace {

Result<DcbRequest> parse(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return parse_dcb_words(words.at(0), words.at(1), std::span(words).subspan(2));
}

using Entries = std::map<unsigned, std::uint64_t>;

TEST(DcbWords, TheLaterWordWinsAndAllIsEveryKey) {
    const auto request = parse("pfc set prio-pfc all:off 3:on 4:on 4:off");
    ASSERT_TRUE(request) << request.error();
    EXPECT_EQ(request->tables.at("prio-pfc"),
              (Entries{{0, 0}, {1, 0}, {2, 0}, {3, 1}, {4, 0}, {5, 0}, {6, 0}, {7, 0}}));
}

TEST(DcbWords, OnlyWhatIsNamedIsInTheRequest) {
    const auto request = parse("ets set tc-tsa 0:ets 3:ets tc-bw 0:50 3:50 prio-tc 3:3");
    ASSERT_TRUE(request) << request.error();
    EXPECT_EQ(request->tables.at("tc-tsa"), (Entries{{0, kTsaEts}, {3, kTsaEts}}));
    EXPECT_EQ(request->tables.at("tc-bw"), (Entries{{0, 50}, {3, 50}}));
    EXPECT_EQ(request->tables.at("prio-tc"), (Entries{{3, 3}}));
}

TEST(DcbWords, DscpsHaveNames) {
    const auto request = parse("app add dscp-prio AF31:3 cs6:6 0:0 default-prio 0");
    ASSERT_TRUE(request) << request.error();
    EXPECT_EQ(request->tables.at("dscp-prio"), (Entries{{26, 3}, {48, 6}, {0, 0}}));
    EXPECT_EQ(request->tables.at("default-prio"), (Entries{{0, 0}}));
    EXPECT_EQ(parse("rewr add prio-dscp 3:AF31")->tables.at("prio-dscp"), (Entries{{3, 26}}));
}

TEST(DcbWords, OrderIsAList) {
    EXPECT_EQ(parse("apptrust set order dscp pcp")->tables.at("order"), (Entries{{0, 0}, {1, 1}}));
    EXPECT_EQ(parse("apptrust set order pcp")->tables.at("order"), (Entries{{0, 1}}));
}

TEST(DcbWords, RatesAndSizesHaveTcsUnits) {
    EXPECT_EQ(parse("maxrate set tc-maxrate 0:25Gbit 1:100mbit 2:1Gbps")->tables.at("tc-maxrate"),
              (Entries{{0, 25'000'000'000}, {1, 100'000'000}, {2, 8'000'000'000}}));
    EXPECT_EQ(parse("buffer set buffer-size 0:64K 1:1M 2:100")->tables.at("buffer-size"),
              (Entries{{0, 65'536}, {1, 1'048'576}, {2, 100}}));
}

TEST(DcbWords, FlushTakesNamesOnly) {
    EXPECT_TRUE(parse("app flush"));
    EXPECT_EQ(parse("app flush dscp-prio")->tables.count("dscp-prio"), 1u);
    EXPECT_FALSE(parse("app flush dscp-prio 3:3"));
}

TEST(DcbWords, WhatIsNotUnderstoodIsRefusedWithWhatIsAllowed) {
    const std::vector<std::pair<const char*, const char*>> wrong = {
        {"pcf set prio-pfc 3:on", "allowed: pfc, ets, app, apptrust, rewr, buffer, maxrate"},
        {"pfc add prio-pfc 3:on", "allowed: set, show"},
        {"app set dscp-prio 3:3", "allowed: add, replace, del, flush, show"},
        {"pfc set", "allowed: prio-pfc"},
        {"pfc set prio-pfc", "on or off"},
        {"pfc set prio 3:on", "allowed: prio-pfc"},
        {"pfc set prio-pfc 8:on", "0 to 7"},
        {"pfc set prio-pfc -1:on", "0 to 7"},
        {"pfc set prio-pfc 3", "KEY:VALUE"},
        {"pfc set prio-pfc 3:yes", "on or off"},
        {"pfc set prio-pfc 3:on prio-pfc 4:on", "given twice"},
        {"pfc set prio-pfc :", "on or off"},
        {"ets set tc-bw 0:101", "0 to 100"},
        {"ets set tc-tsa 0:cbs", "strict or ets"},
        {"app add dscp-prio 64:1", "0 to 63"},
        {"app add dscp-prio AF99:1", "a name such as AF31"},
        {"app add default-prio 0 1", "0 to 7"},
        {"apptrust set order dscp dscp", "at most once"},
        {"apptrust set order dscp pcp vlan", "at most once"},
        {"maxrate set tc-maxrate 0:25Gb", "25Gbit"},
        {"maxrate set tc-maxrate 0:99999999999999999999Gbit", "25Gbit"},
        {"buffer set buffer-size 0:64KiB", "64K"},
    };
    for (const auto& [line, allowed] : wrong) {
        const auto request = parse(line);
        ASSERT_FALSE(request) << line;
        EXPECT_NE(request.error().find(allowed), std::string::npos) << line << " -> " << request.error();
        EXPECT_EQ(request.error().find('\n'), std::string::npos) << line;
    }
}

TEST(DcbJson, GoesThereAndBack) {
    for (const char* line : {"pfc set prio-pfc all:off 3:on", "ets set tc-tsa all:strict 0:ets tc-bw 0:100",
                             "app replace dscp-prio AF31:3", "apptrust set order pcp dscp", "app flush"}) {
        const auto request = parse(line);
        ASSERT_TRUE(request) << line;
        const auto back = dcb_from_json(nlohmann::json::parse(dcb_to_json(*request).dump()));
        ASSERT_TRUE(back) << back.error();
        EXPECT_EQ(back->object, request->object);
        EXPECT_EQ(back->verb, request->verb);
        EXPECT_EQ(back->tables, request->tables);
    }
}

TEST(DcbJson, HostileRequestsAreRefused) {
    for (const char* text :
         {R"([])", R"(null)", R"({})", R"({"object":"pfc"})", R"({"object":3,"verb":"set"})",
          R"({"object":"pfc","verb":"set","prio-pfc":3})", R"({"object":"pfc","verb":"set","prio-pfc":{"8":1}})",
          R"({"object":"pfc","verb":"set","prio-pfc":{"3":2}})", R"({"object":"pfc","verb":"set","prio-pfc":{"3":-1}})",
          R"({"object":"pfc","verb":"set","prio-pfc":{"":1}})", R"({"object":"pfc","verb":"set","tc-bw":{"3":1}})",
          R"({"object":"ets","verb":"set","tc-tsa":{"3":1}})", R"({"object":"ets","verb":"set","tc-bw":{"3":1e9}})"})
        EXPECT_FALSE(dcb_from_json(nlohmann::json::parse(text))) << text;
}

TEST(DcbEntry, PrintsAsDcbDoes) {
    EXPECT_EQ(dcb_entry("prio-pfc", 3, 1), "3:on");
    EXPECT_EQ(dcb_entry("tc-tsa", 0, kTsaEts), "0:ets");
    EXPECT_EQ(dcb_entry("tc-maxrate", 0, 25'000'000'000), "0:25Gbit");
    EXPECT_EQ(dcb_entry("tc-maxrate", 0, 0), "0:0");
    EXPECT_EQ(dcb_entry("tc-maxrate", 0, 1'234), "0:1234bit");
    EXPECT_EQ(dcb_entry("buffer-size", 1, 65'536), "1:64K");
    EXPECT_EQ(dcb_entry("dscp-prio", 26, 3), "26:3");
    EXPECT_EQ(dcb_entry("order", 0, 1), "pcp");
    EXPECT_EQ(dcb_entry("default-prio", 0, 5), "5");
}

}  // namespace
}  // namespace vroce
