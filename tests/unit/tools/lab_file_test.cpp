// The lab's file: what the wiring adds to a switch, and that every complaint says where. More wrong files: tests/e2e.
#include "tools/lab/lab_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace vroce::tools {
namespace {

namespace fs = std::filesystem;

class LabFileTest : public testing::Test {
protected:
    LabFileTest() : folder_(fs::temp_directory_path() / ("vroce-lab-file-" + std::to_string(::getpid()))) {
        fs::create_directories(folder_);
    }
    ~LabFileTest() override { fs::remove_all(folder_); }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        return (folder_ / name).string();
    }
    Result<Lab> load(const std::string& hosts, const std::string& switches = R"({"sw1": {}})") const {
        return load_lab(write("lab.json", R"({"switches": )" + switches + R"(, "hosts": )" + hosts + "}"));
    }

    fs::path folder_;
};

constexpr const char* kOneHost =
    R"({"h1": {"uplink": ["sw1", "Ethernet0"], "speed": "25G", "endpoints": {"vm1": {}}}})";

TEST_F(LabFileTest, WiringGivesThePortItsSpeedAndItsDevice) {
    const Result<Lab> lab = load(kOneHost);
    ASSERT_TRUE(lab) << lab.error();
    const auto& config = lab->switches.at(0).config;
    EXPECT_EQ(config["PORT"]["Ethernet0"]["speed"], "25000");
    EXPECT_EQ(config["PORT"]["Ethernet0"]["admin_status"], "up");
    EXPECT_EQ(config["VROCE_PORT"]["Ethernet0"]["devargs"], "memif");
    EXPECT_EQ(lab->hosts.at(0).speed_bps, 25'000'000'000u);
}

TEST_F(LabFileTest, WhatTheSwitchesFileSaysOfAPortStays) {
    const Result<Lab> lab = load(kOneHost, R"({"sw1": {"config": {
        "PORT": {"Ethernet0": {"speed": "25000", "mtu": "1500", "admin_status": "down"}},
        "VROCE_PORT": {"Ethernet0": {"devargs": "net_null0", "role": "switch"}}}}})");
    ASSERT_TRUE(lab) << lab.error();
    const auto& config = lab->switches.at(0).config;
    EXPECT_EQ(config["PORT"]["Ethernet0"]["mtu"], "1500");
    EXPECT_EQ(config["PORT"]["Ethernet0"]["admin_status"], "down");
    EXPECT_EQ(config["VROCE_PORT"]["Ethernet0"]["devargs"], "net_null0");
}

TEST_F(LabFileTest, SwitchConfigMayBeAFileBesideTheLab) {
    write("sw.json", R"({"PORT": {"Ethernet8": {"speed": "10000"}}} // a comment)");
    const Result<Lab> lab = load(kOneHost, R"({"sw1": {"config": "sw.json"}})");
    ASSERT_TRUE(lab) << lab.error();
    EXPECT_TRUE(lab->switches.at(0).config["PORT"].contains("Ethernet8"));
    EXPECT_TRUE(lab->switches.at(0).config["PORT"].contains("Ethernet0"));
}

TEST_F(LabFileTest, AnotherSwitchFileMakesAnotherLab) {
    write("sw.json", R"({"SWITCH": {"switch": {"fdb_aging_time": "300"}}})");
    const Result<Lab> before = load(kOneHost, R"({"sw1": {"config": "sw.json"}})");
    write("sw.json", R"({"SWITCH": {"switch": {"fdb_aging_time": "10"}}})");
    const Result<Lab> after = load(kOneHost, R"({"sw1": {"config": "sw.json"}})");
    ASSERT_TRUE(before && after);
    EXPECT_NE(before->definition, after->definition);
}

TEST_F(LabFileTest, EndpointsGetDefaultsAndInterfacesOfTheirOwn) {
    const Result<Lab> lab = load(R"({"h1": {"uplink": ["sw1", "Ethernet0"], "endpoints": {"vm1": {}, "vm2": {}}}})");
    ASSERT_TRUE(lab) << lab.error();
    const auto& endpoints = lab->hosts.at(0).endpoints;
    ASSERT_EQ(endpoints.size(), 2u);
    EXPECT_EQ(endpoints[0].interface, "eth0");
    EXPECT_EQ(endpoints[1].interface, "eth1");
    EXPECT_EQ(lab->hosts.at(0).mtu, 4200);
}

TEST_F(LabFileTest, ComplaintNamesFileKeyValueAndWhatIsAllowed) {
    const Result<Lab> lab = load(R"({"h1": {"uplink": ["sw1", "Ethernet0"], "mtu": 20000, "endpoints": {"vm1": {}}}})");
    ASSERT_FALSE(lab);
    EXPECT_EQ(lab.error(), (folder_ / "lab.json").string() + ": hosts.h1.mtu: 20000 is not allowed; 1280 to 9100 is");
}

TEST_F(LabFileTest, TwoHostsOnOnePortAreRefused) {
    const Result<Lab> lab = load(R"({"h1": {"uplink": ["sw1", "Ethernet0"], "endpoints": {"vm1": {}}},
                                     "h2": {"uplink": ["sw1", "Ethernet0"], "endpoints": {"vm1": {}}}})");
    ASSERT_FALSE(lab);
    EXPECT_NE(lab.error().find("hosts.h2.uplink: sw1/Ethernet0 is another host's"), std::string::npos) << lab.error();
}

TEST_F(LabFileTest, HostAndSwitchMayNotShareAName) {
    EXPECT_FALSE(load(R"({"sw1": {"uplink": ["sw1", "Ethernet0"], "endpoints": {"vm1": {}}}})"));
}

TEST_F(LabFileTest, RenamingChangesTheDefinition) {
    Result<Lab> lab = load(kOneHost);
    ASSERT_TRUE(lab);
    ASSERT_TRUE(rename_lab(*lab, "other"));
    EXPECT_EQ(lab->name, "other");
    EXPECT_EQ(lab->definition["name"], "other");
    EXPECT_FALSE(rename_lab(*lab, "../up"));
}

TEST(ParseSpeed, UnitsAndLimits) {
    EXPECT_EQ(*parse_speed("10G"), 10'000'000'000u);
    EXPECT_EQ(*parse_speed("2500M"), 2'500'000'000u);
    EXPECT_EQ(*parse_speed("800G"), 800'000'000'000u);
    for (const char* wrong : {"", "G", "10", "801G", "0M", "-1G", "1.5G", "10g", "99999999999G"}) {
        EXPECT_FALSE(parse_speed(wrong)) << wrong;
    }
}

}  // namespace
}  // namespace vroce::tools
