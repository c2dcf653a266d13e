// The configuration loader: what it reads, what it warns about, what it refuses and in which words.
#include "switch/config/loader.hpp"

#include <gtest/gtest.h>

namespace vroce::sw {
namespace {

LoadedConfig good(const std::string& text) {
    Result<LoadedConfig> config = parse_config(text, "sw.json");
    if (!config) {
        ADD_FAILURE() << config.error();
        return {};
    }
    return *config;
}

std::string refusal(const std::string& text) {
    const Result<LoadedConfig> config = parse_config(text, "sw.json");
    return config ? "accepted" : config.error();
}

TEST(Config, ReadsPortsVlansAndDevices) {
    const LoadedConfig config = good(R"({
        "PORT": {"Ethernet0": {"speed": "10000", "mtu": "9100", "admin_status": "up"},
                 "Ethernet4": {"speed": "400000", "mtu": "1500", "admin_status": "down"}},
        "VLAN": {"Vlan10": {"vlanid": "10"}, "Vlan20": {}},
        "VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan20|Ethernet0": {"tagging_mode": "tagged"},
                        "Vlan20|Ethernet4": {"tagging_mode": "tagged"}},
        "VROCE_PORT": {"Ethernet0": {"devargs": "memif", "role": "host"},
                       "Ethernet4": {"devargs": "net_tap0,iface=x", "role": "switch"}},
        "SWITCH": {"switch": {"fdb_aging_time": "60"}}})");
    ASSERT_EQ(config.core->ports.size(), 2u);
    EXPECT_EQ(config.core->ports[0].name, "Ethernet0");
    EXPECT_EQ(config.core->ports[1].speed_bps, 400'000'000'000u);
    EXPECT_EQ(config.core->ports[1].mtu_bytes, 1'500u);
    EXPECT_TRUE(config.core->ports[0].admin_up);
    EXPECT_FALSE(config.core->ports[1].admin_up);
    EXPECT_EQ(config.core->ports[0].egress_limit_bytes, 4u << 20);
    EXPECT_EQ(config.core->vlans.native(0), 10);
    EXPECT_EQ(config.core->vlans.native(1), 0);
    EXPECT_TRUE(config.core->vlans.leaves_tagged(20, 0));
    EXPECT_FALSE(config.core->vlans.leaves_tagged(10, 0));
    EXPECT_FALSE(config.core->vlans.is_member(10, 1));
    EXPECT_EQ(config.devices[1].devargs, "net_tap0,iface=x");
    EXPECT_EQ(config.devices[1].role, PortDevice::Role::kSwitch);
    EXPECT_EQ(config.core->fdb_ageing, seconds(60));
    EXPECT_TRUE(config.warnings.empty()) << config.warnings.front();
}

TEST(Config, WithoutVlansAllPortsShareVlan1) {
    const LoadedConfig config = good(R"({"PORT": {"Ethernet0": {}, "Ethernet4": {}}})");
    EXPECT_EQ(config.core->vlans.members(1), PortSet{3});
    EXPECT_EQ(config.core->vlans.native(1), 1);
    EXPECT_FALSE(config.core->vlans.leaves_tagged(1, 0));
    EXPECT_EQ(config.core->ports[0].mtu_bytes, 9'100u);
    EXPECT_EQ(config.core->fdb_ageing, seconds(300));
    EXPECT_TRUE(config.devices[0].devargs.empty());
}

TEST(Config, KeepsTheOrderOfTheFile) {
    const LoadedConfig config = good(R"({"PORT": {"Ethernet8": {}, "Ethernet10": {}, "Ethernet0": {}}})");
    EXPECT_EQ(config.core->ports[0].name, "Ethernet8");
    EXPECT_EQ(config.core->ports[2].name, "Ethernet0");
}

TEST(Config, AcceptsNumbersWithoutQuotes) {
    EXPECT_EQ(good(R"({"PORT": {"E": {"speed": 25000}}})").core->ports[0].speed_bps, 25'000'000'000u);
}

TEST(Config, NamesWhatItDoesNotKnow) {
    const LoadedConfig config = good(R"({"PORT": {"E0": {"lanes": "1,2"}, "E1": {"lanes": "3,4"}},
                                         "ACL_TABLE": {"EVERFLOW": {"type": "mirror"}}, "VLAN": {"Vlan5": {"members": ["E0"]}},
                                         "VLAN_MEMBER": {"Vlan5|E0": {"tagging_mode": "tagged"}}})");
    ASSERT_EQ(config.warnings.size(), 4u);
    EXPECT_EQ(config.warnings[0], "sw.json: PORT|E1: member of no VLAN, so it forwards nothing");
    EXPECT_EQ(config.warnings[1], "sw.json: table ACL_TABLE is not known and has no effect: EVERFLOW");
    EXPECT_EQ(config.warnings[2], "sw.json: PORT: field lanes is not known and has no effect (in 2 entries)");
    EXPECT_EQ(config.warnings[3], "sw.json: VLAN: field members is not known and has no effect (in 1 entries)");
}

struct Refusal {
    const char* name;
    const char* text;
    const char* message;
};

class ConfigRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(ConfigRefusal, IsOneLineThatSaysWhatIsAllowed) {
    const std::string message = refusal(GetParam().text);
    EXPECT_EQ(message.substr(0, std::string(GetParam().message).size()), GetParam().message);
    EXPECT_EQ(message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigRefusal,
    ::testing::Values(
        Refusal{"NotJson", "PORT", "sw.json: parse error at line 1, column 1"},
        Refusal{"Empty", "", "sw.json: parse error at line 1"},
        Refusal{"Truncated", R"({"PORT": {"E0": {)", "sw.json: parse error at line 1"},
        Refusal{"NotObject", "[]", "sw.json: not a configuration; allowed: an object of tables"},
        Refusal{"TableNotObject", R"({"PORT": 3})", "sw.json: PORT: not a table"},
        Refusal{"EntryNotObject", R"({"PORT": {"E0": "up"}})", "sw.json: PORT|E0: not an entry"},
        Refusal{"NoPorts", "{}", "sw.json: PORT: 0 ports; allowed: 1..64"},
        Refusal{"TwiceTable", R"({"PORT": {"E0": {}}, "PORT": {"E1": {}}})", "sw.json: \"PORT\" is there twice"},
        Refusal{"TwiceField", R"({"PORT": {"E0": {"mtu": "1", "mtu": "2"}}})", "sw.json: \"mtu\" is there twice"},
        Refusal{"PortName", R"({"PORT": {"../E0": {}}})", "sw.json: PORT|../E0: not a port name; allowed: a letter"},
        Refusal{"Speed", R"({"PORT": {"E0": {"speed": "fast"}}})",
                "sw.json: PORT|E0: speed \"fast\"; allowed: 1..800000 (Mb/s)"},
        Refusal{"SpeedZero", R"({"PORT": {"E0": {"speed": "0"}}})",
                "sw.json: PORT|E0: speed \"0\"; allowed: 1..800000"},
        Refusal{"SpeedHuge", R"({"PORT": {"E0": {"speed": "99999999999999999999999"}}})",
                "sw.json: PORT|E0: speed \"9999"},
        Refusal{"MtuNegative", R"({"PORT": {"E0": {"mtu": -1}}})", "sw.json: PORT|E0: mtu \"-1\"; allowed: 68..9216"},
        Refusal{"MtuList", R"({"PORT": {"E0": {"mtu": [9100]}}})",
                "sw.json: PORT|E0: mtu \"[9100]\"; allowed: 68..9216"},
        Refusal{"Admin", R"({"PORT": {"E0": {"admin_status": "on"}}})",
                "sw.json: PORT|E0: admin_status \"on\"; allowed: up, down"},
        Refusal{"VlanName", R"({"PORT": {"E0": {}}, "VLAN": {"Vlan4095": {}}})",
                "sw.json: VLAN|Vlan4095: not a VLAN's name; allowed: Vlan1..Vlan4094"},
        Refusal{"VlanZeroes", R"({"PORT": {"E0": {}}, "VLAN": {"Vlan010": {}}})",
                "sw.json: VLAN|Vlan010: not a VLAN's name"},
        Refusal{"VlanId", R"({"PORT": {"E0": {}}, "VLAN": {"Vlan10": {"vlanid": "11"}}})",
                "sw.json: VLAN|Vlan10: vlanid \"11\" contradicts the name; allowed: 10"},
        Refusal{"MemberVlan", R"({"PORT": {"E0": {}}, "VLAN_MEMBER": {"Vlan10|E0": {"tagging_mode": "tagged"}}})",
                "sw.json: VLAN_MEMBER|Vlan10|E0: unknown VLAN; allowed: the entries of table VLAN"},
        Refusal{
            "MemberPort",
            R"({"PORT": {"E0": {}}, "VLAN": {"Vlan10": {}}, "VLAN_MEMBER": {"Vlan10|E1": {"tagging_mode": "tagged"}}})",
            "sw.json: VLAN_MEMBER|Vlan10|E1: unknown port; allowed: the entries of table PORT"},
        Refusal{
            "MemberMode",
            R"({"PORT": {"E0": {}}, "VLAN": {"Vlan10": {}}, "VLAN_MEMBER": {"Vlan10|E0": {"tagging_mode": "both"}}})",
            "sw.json: VLAN_MEMBER|Vlan10|E0: tagging_mode \"both\"; allowed: untagged, tagged"},
        Refusal{"MemberNoMode", R"({"PORT": {"E0": {}}, "VLAN": {"Vlan10": {}}, "VLAN_MEMBER": {"Vlan10|E0": {}}})",
                "sw.json: VLAN_MEMBER|Vlan10|E0: tagging_mode is missing; allowed: untagged, tagged"},
        Refusal{"TwoNatives",
                R"({"PORT": {"E0": {}}, "VLAN": {"Vlan10": {}, "Vlan20": {}},
                    "VLAN_MEMBER": {"Vlan10|E0": {"tagging_mode": "untagged"}, "Vlan20|E0": {"tagging_mode": "untagged"}}})",
                "sw.json: VLAN_MEMBER|Vlan20|E0: tagging_mode \"untagged\" contradicts Vlan10|E0"},
        Refusal{"DeviceWithoutPort", R"({"PORT": {"E0": {}}, "VROCE_PORT": {"E1": {"devargs": "memif"}}})",
                "sw.json: VROCE_PORT|E1: unknown port; allowed: the entries of table PORT"},
        Refusal{"DeviceWithoutDevargs", R"({"PORT": {"E0": {}}, "VROCE_PORT": {"E0": {"role": "host"}}})",
                "sw.json: VROCE_PORT|E0: devargs is missing"},
        Refusal{"DeviceRole", R"({"PORT": {"E0": {}}, "VROCE_PORT": {"E0": {"devargs": "memif", "role": "router"}}})",
                "sw.json: VROCE_PORT|E0: role \"router\"; allowed: host, switch"},
        Refusal{"DeviceTwice",
                R"({"PORT": {"E0": {}, "E1": {}}, "VROCE_PORT": {"E0": {"devargs": "net_tap0,iface=a"},
                                                                   "E1": {"devargs": "net_tap0,iface=b"}}})",
                "sw.json: VROCE_PORT|E1: devargs \"net_tap0,iface=b\": device net_tap0 belongs to E0 already"},
        Refusal{"MemifKey",
                R"({"PORT": {"E0": {}}, "VROCE_PORT": {"E0": {"devargs": "net_memif0,socket=/x,colour=red"}}})",
                "sw.json: VROCE_PORT|E0: devargs \"net_memif0,socket=/x,colour=red\": \"colour=red\" is not KEY=VALUE"},
        Refusal{"MemifValue", R"({"PORT": {"E0": {}}, "VROCE_PORT": {"E0": {"devargs": "net_memif0,socket="}}})",
                "sw.json: VROCE_PORT|E0: devargs \"net_memif0,socket=\": \"socket=\" is not KEY=VALUE"},
        Refusal{"MemifSocket", R"({"PORT": {"E0": {}}, "VROCE_PORT": {"E0": {"devargs": "net_memif0,id=1"}}})",
                "sw.json: VROCE_PORT|E0: devargs \"net_memif0,id=1\": a memif needs socket=PATH"},
        Refusal{"Ageing", R"({"PORT": {"E0": {}}, "SWITCH": {"switch": {"fdb_aging_time": "soon"}}})",
                "sw.json: SWITCH|switch: fdb_aging_time \"soon\"; allowed: 0..1000000"},
        Refusal{"SwitchKey", R"({"PORT": {"E0": {}}, "SWITCH": {"sw": {}}})",
                "sw.json: SWITCH|sw: unknown entry; allowed: switch"}),
    [](const auto& refusal_case) { return std::string(refusal_case.param.name); });

TEST(Config, RefusesMorePortsThanTheSwitchHas) {
    std::string ports;
    for (int i = 0; i < 65; ++i) ports += (i == 0 ? "\"E" : ", \"E") + std::to_string(i) + "\": {}";
    EXPECT_EQ(refusal("{\"PORT\": {" + ports + "}}"), "sw.json: PORT: 65 ports; allowed: 1..64");
}

TEST(Config, NamesAFileThatCannotBeRead) {
    EXPECT_EQ(load_config("/nonexistent/sw.json").error(),
              "/nonexistent/sw.json: cannot be opened: No such file or directory");
    EXPECT_EQ(load_config("/").error(), "/: cannot be read: Is a directory");
}

}  // namespace
}  // namespace vroce::sw
