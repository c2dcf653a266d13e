// Options of the NIC process: file and command line together, and each refusal as the one line that a person reads.
#include "nic/control/options.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace vroce::nic {
namespace {

const std::string kGood =
    "name = h1\nuplink = memif:/run/vroce/sw1/Ethernet0.memif\n"
    "[vm1]\ndevice = vroce0\ninterface = eth0\naddress = 10.0.0.1/24\n";

class OptionsTest : public ::testing::Test {
protected:
    OptionsTest() { ::unsetenv("VROCE_RUN_DIR"); }
    ~OptionsTest() override { ::unlink(path.c_str()); }

    OptionsOutcome parse(const std::string& file, std::vector<std::string> words = {}) {
        std::ofstream(path) << file;
        words.insert(words.begin(), {"vroce-nic", "--config", path});
        return parse_words(words);
    }
    static OptionsOutcome parse_words(const std::vector<std::string>& words) {
        std::vector<const char*> argv;
        for (const std::string& w : words) argv.push_back(w.c_str());
        return parse_options(static_cast<int>(argv.size()), argv.data());
    }
    static void expect_refused(const OptionsOutcome& outcome, const std::vector<std::string>& fragments, int code = 2) {
        EXPECT_FALSE(outcome.options);
        EXPECT_EQ(outcome.exit_code, code);
        EXPECT_EQ(outcome.text.find('\n'), std::string::npos) << outcome.text;
        for (const std::string& f : fragments) EXPECT_NE(outcome.text.find(f), std::string::npos) << outcome.text;
    }
    void expect_file_refused(const std::string& file, std::vector<std::string> fragments) {
        fragments.push_back(path);
        expect_refused(parse(file), fragments);
    }

    const std::string path = "/tmp/vroce-options-test-" + std::to_string(::getpid()) + ".ini";
};

TEST_F(OptionsTest, DefaultsAreThoseOfTheHelp) {
    const OptionsOutcome outcome = parse(kGood);
    ASSERT_TRUE(outcome.options) << outcome.text;
    const NicOptions& o = *outcome.options;
    EXPECT_EQ(o.name, "h1");
    EXPECT_EQ(o.run_dir, "/run/vroce");
    EXPECT_EQ(o.speed_bps, 10'000'000'000u);
    EXPECT_EQ(o.mtu, 4'200u);
    EXPECT_FALSE(o.busy);
    EXPECT_FALSE(o.no_huge);
    EXPECT_FALSE(o.cpu);
    EXPECT_EQ(o.netns, "");
    ASSERT_EQ(o.endpoints.size(), 1u);
    const EndpointOptions& e = o.endpoints[0];
    EXPECT_EQ(e.name, "vm1");
    EXPECT_EQ(e.device, "vroce0");
    EXPECT_EQ(e.vlan, 0);
    EXPECT_FALSE(e.vendor_id);
    ASSERT_EQ(e.addresses.size(), 1u);
    EXPECT_EQ(e.mac.bytes[0], 0x02);
}

TEST_F(OptionsTest, EverySettingOfTheFileArrives) {
    const OptionsOutcome outcome = parse(
        "name = h1  # of the host\nrun-dir = /tmp/run\nuplink = net_af_packet0,iface=eth1\nspeed = 400G\nmtu = 9000\n"
        "cpu = 1\nmemory-mib = 256\nno-huge = true\npoll = busy\nnetns = /run/netns/h1\n"
        "[vm1]\ndevice = vroce0\ninterface = eth0\nmac = 02:00:00:00:00:01\naddress = 10.0.0.1/24\n"
        "address = fd00::1/64\nvlan = 10\nvendor-id = 0x123456\nvendor-part-id = 4119\n");
    ASSERT_TRUE(outcome.options) << outcome.text;
    const NicOptions& o = *outcome.options;
    EXPECT_EQ(o.uplink, "net_af_packet0,iface=eth1");
    EXPECT_EQ(o.speed_bps, 400'000'000'000u);
    EXPECT_EQ(o.cpu, 1u);
    EXPECT_EQ(o.memory_mib, 256u);
    EXPECT_TRUE(o.no_huge);
    EXPECT_TRUE(o.busy);
    EXPECT_EQ(o.endpoints[0].addresses.size(), 2u);
    EXPECT_EQ(o.endpoints[0].vlan, 10);
    EXPECT_EQ(o.endpoints[0].vendor_id, 0x123456u);
    EXPECT_EQ(o.endpoints[0].vendor_part_id, 4'119u);
}

TEST_F(OptionsTest, TheCommandLineWins) {
    const OptionsOutcome outcome =
        parse(kGood, {"--speed", "25G", "--no-huge", "--vm1.vlan=7", "--vm1.address", "10.9.9.9/8"});
    ASSERT_TRUE(outcome.options) << outcome.text;
    EXPECT_EQ(outcome.options->speed_bps, 25'000'000'000u);
    EXPECT_TRUE(outcome.options->no_huge);
    EXPECT_EQ(outcome.options->endpoints[0].vlan, 7);
    ASSERT_EQ(outcome.options->endpoints[0].addresses.size(), 1u);
    EXPECT_EQ(text_of(outcome.options->endpoints[0].addresses[0].address), "10.9.9.9");
}

TEST_F(OptionsTest, AFileIsNotNeeded) {
    const OptionsOutcome outcome = parse_words(
        {"vroce-nic", "--name", "h1", "--uplink", "memif:/x/y", "--vm1.device", "vroce0", "--vm1.interface", "eth0"});
    ASSERT_TRUE(outcome.options) << outcome.text;
    EXPECT_EQ(outcome.options->endpoints[0].interface, "eth0");
}

TEST_F(OptionsTest, MacAddressesAreTheSameAfterARestartAndDiffer) {
    const std::string second = "[vm2]\ndevice = vroce1\ninterface = eth1\n";
    const auto a = parse(kGood + second);
    const auto b = parse(kGood + second);
    ASSERT_TRUE(a.options && b.options);
    EXPECT_EQ(a.options->endpoints[0].mac, b.options->endpoints[0].mac);
    EXPECT_FALSE(a.options->endpoints[0].mac == a.options->endpoints[1].mac);
}

TEST_F(OptionsTest, UnknownWordsAreNamedWithWhatIsAllowed) {
    expect_file_refused("colour = red\n" + kGood, {"colour = red", "speed", "uplink"});
    expect_file_refused(kGood + "colour = red\n", {"[vm1] colour = red", "device", "vlan"});
    expect_refused(parse_words({"vroce-nic", "--frobnicate"}), {"--frobnicate", "--help"});
    expect_refused(parse_words({"vroce-nic", "--vm1.frobnicate", "x"}), {"frobnicate"});
    expect_refused(parse_words({"vroce-nic", "h1.ini"}), {"h1.ini"});
    expect_refused(parse_words({"vroce-nic", "--sp", "10G"}), {"--sp"});
}

TEST_F(OptionsTest, WrongValuesAreNamedWithWhatIsAllowed) {
    expect_file_refused(kGood + "mac = zz\n", {"[vm1] mac = zz", "02:00:00:00:00:01"});
    expect_file_refused(kGood + "address = 10.0.0.2\n", {"[vm1] address = 10.0.0.2", "prefix"});
    expect_file_refused(kGood + "vlan = 4095\n", {"[vm1] vlan = 4095", "0 to 4094"});
    expect_file_refused("speed = fast\n" + kGood, {"speed = fast", "10M to 800G"});
    expect_file_refused("mtu = 68\n" + kGood, {"mtu = 68", "1280 to 9100"});
    expect_refused(parse(kGood, {"--uplink", "memif:relative"}), {"memif:relative", "memif:/path"});
    expect_refused(parse(kGood, {"--uplink", "memif:/" + std::string(100, 'x')}), {"100 bytes"});
    expect_file_refused("poll = never\n" + kGood, {"poll = never", "busy, adaptive"});
    expect_file_refused("netns = h1\n" + kGood, {"netns = h1", "absolute"});
    expect_refused(parse(kGood, {"--cpu", "many"}), {"--cpu many", "0 to 1023"});
}

TEST_F(OptionsTest, MissingSettingsAreNamed) {
    expect_file_refused("uplink = memif:/x\n[vm1]\ndevice = vroce0\ninterface = eth0\n", {"name is missing"});
    expect_file_refused("name = h1\n[vm1]\ndevice = vroce0\ninterface = eth0\n", {"uplink is missing", "memif:"});
    expect_file_refused("name = h1\nuplink = memif:/x\n[vm1]\ndevice = vroce0\n", {"[vm1] interface is missing"});
    expect_file_refused("name = h1\nuplink = memif:/x\n", {"no endpoint"});
}

TEST_F(OptionsTest, WhatOnlyOneCanHaveIsNotGivenTwice) {
    expect_file_refused("name = h1\n" + kGood, {"name = h1", "twice"});
    const std::string second = "[vm2]\nmac = 02:00:00:00:00:09\n";
    expect_file_refused(kGood + second + "device = vroce0\ninterface = eth1\n", {"[vm2] device = vroce0", "[vm1]"});
    expect_file_refused(kGood + second + "device = vroce1\ninterface = eth0\n", {"[vm2] interface = eth0"});
    expect_file_refused(kGood + "mac = 02:00:00:00:00:09\n" + second + "device = vroce1\ninterface = eth1\n",
                        {"[vm2] mac = 02:00:00:00:00:09"});
    expect_file_refused(kGood + second + "device = vroce1\ninterface = eth1\naddress = 10.0.0.1/8\n",
                        {"[vm2] address = 10.0.0.1"});
}

TEST_F(OptionsTest, NamesAreFitForPaths) {
    expect_file_refused("name = ../h1\n" + kGood.substr(10), {"name = ../h1"});
    expect_file_refused(kGood + "[../x]\ndevice = vroce1\ninterface = eth1\n", {"[../x]"});
    expect_file_refused(kGood + "[log]\ndevice = vroce1\ninterface = eth1\n", {"[log]"});
    expect_file_refused("run-dir = /" + std::string(100, 'x') + "\n" + kGood, {"too long"});
}

TEST_F(OptionsTest, FilesThatAreNoneAreRefused) {
    expect_refused(parse_words({"vroce-nic", "--config", "/no/such.ini"}), {"/no/such.ini", "No such file"}, 1);
    expect_refused(parse_words({"vroce-nic", "--config", "/tmp"}), {"/tmp"}, 1);
    expect_file_refused("name = h1\nnonsense\n", {"nonsense"});
    expect_file_refused("[vm1\n", {"[vm1"});
}

TEST_F(OptionsTest, HelpAndVersionEndWell) {
    const auto help = parse_words({"vroce-nic", "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_FALSE(help.options);
    EXPECT_NE(help.text.find("vendor-part-id"), std::string::npos);
    EXPECT_NE(parse_words({"vroce-nic", "--version"}).text.find(VROCE_VERSION), std::string::npos);
}

}  // namespace
}  // namespace vroce::nic
