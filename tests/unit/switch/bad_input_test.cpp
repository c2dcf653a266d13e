// Whatever is wrong when vroce-switch starts: one line that says what, where and what is allowed, and an exit code.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/switch/switch_process.hpp"

namespace vroce::sw {
namespace {

using namespace test;

constexpr const char* kGood = R"({"PORT": {"Ethernet0": {"speed": "10000"}}})";

class BadInput : public ::testing::Test {
protected:
    struct Ending {
        int code;
        std::string errors;
    };
    Ending run(std::vector<std::string> arguments, uid_t uid = 0) {
        SwitchProcess process(std::move(arguments), uid);
        const int code = process.wait();
        return {code, process.errors()};
    }
    Ending run_config(const std::string& text) {
        return run({"--name", "sw1", "--config", directory_.write("sw.json", text), "--run-dir",
                    directory_.path() + "/run", "--no-huge"});
    }
    /// One line, and nothing of it missing.
    static void expect(const Ending& ending, int code, const std::vector<std::string>& parts) {
        EXPECT_EQ(ending.code, code) << ending.errors;
        EXPECT_EQ(std::count(ending.errors.begin(), ending.errors.end(), '\n'), 1) << ending.errors;
        for (const std::string& part : parts) EXPECT_NE(ending.errors.find(part), std::string::npos) << ending.errors;
    }

    TemporaryDirectory directory_;
};

TEST_F(BadInput, Options) {
    expect(run({"--frobnicate"}), 2, {"frobnicate"});
    expect(run({"--name"}), 2, {"name"});
    expect(run({}), 2, {"--name is missing"});
    expect(run({"--name", "sw1"}), 2, {"--config is missing"});
    expect(run({"--name", "../sw1", "--config", "x"}), 2, {"--name \"../sw1\"", "allowed: a letter"});
    expect(run({"--name", "s\nw", "--config", "x"}), 2, {"allowed: a letter"});
    expect(run({"--name", "sw1", "--config", "x", "--poll", "lazy"}), 2, {"--poll \"lazy\"; allowed: busy, adaptive"});
    expect(run({"--name", "sw1", "--config", "x", "--rx-hold", "1"}), 2, {"--rx-hold \"1\"; allowed: on, off"});
    expect(run({"--name", "sw1", "--config", "x", "--cpu", "-1"}), 2, {"--cpu \"-1\"; allowed: 0..1023"});
    expect(run({"--name", "sw1", "--config", "x", "--memory-mib", "1G"}), 2,
           {"--memory-mib \"1G\"; allowed: 32..65536"});
    expect(run({"--name", "sw1", "--config", "x", "extra"}), 2, {});
    expect(run({"--name", "sw1", "--name", "sw2", "--config", "x"}), 2, {"name"});
}

TEST_F(BadInput, MorePortsThanDpdkHas) {
    nlohmann::json config;
    for (int i = 0; i < 33; ++i) {
        const std::string port = "Ethernet" + std::to_string(100 + i);
        config["PORT"][port] = {{"speed", "1000"}, {"admin_status", "up"}};
        config["VROCE_PORT"][port] = {{"devargs", "memif"}};
    }
    expect(run_config(config.dump()), 1, {"VROCE_PORT|Ethernet132", "allowed: 32, which this DPDK was built for"});
}

TEST_F(BadInput, ConfigurationFile) {
    expect(run({"--name", "sw1", "--config", "/nonexistent.json", "--run-dir", directory_.path()}), 1,
           {"/nonexistent.json: cannot be opened: No such file"});
    expect(run_config("{ \"PORT\": "), 1, {"sw.json: parse error at line 1"});
    expect(run_config(R"({"PORT": {"Ethernet0": {"speed": "fast"}}})"), 1,
           {"sw.json: PORT|Ethernet0: speed \"fast\"; allowed: 1..800000"});
    expect(run_config(R"({"PORT": {"Ethernet0": {}}, "VROCE_PORT": {"Ethernet1": {"devargs": "memif"}}})"), 1,
           {"VROCE_PORT|Ethernet1: unknown port"});
    EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/run")) << "nothing is made before the file is good";
}

TEST_F(BadInput, Devices) {
    const auto config = [](const std::string& devargs) {
        return R"({"PORT": {"Ethernet0": {}}, "VROCE_PORT": {"Ethernet0": {"devargs": ")" + devargs + "\"}}}";
    };
    expect(run_config(config("net_nothing0")), 1,
           {"VROCE_PORT|Ethernet0: devargs \"net_nothing0\"", "allowed: \"memif\" or"});
    expect(run_config(config("net_memif0,role=server")), 1, {"VROCE_PORT|Ethernet0", "socket=PATH"});
    expect(run_config(config("net_memif0,colour=red,socket=/tmp/x")), 1,
           {"VROCE_PORT|Ethernet0: devargs", "\"colour=red\" is not KEY=VALUE of a memif"});
    EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/run/sw1"));
}

TEST_F(BadInput, RunDirectory) {
    const std::string file = directory_.write("sw.json", kGood);
    expect(run({"--name", "sw1", "--config", file, "--run-dir", "/dev/null/run"}), 1,
           {"/dev/null/run/sw1: cannot be made"});
    expect(run({"--name", "sw1", "--config", file, "--run-dir", directory_.path() + std::string(120, 'x')}), 1,
           {"too long for the sockets in it; allowed: "});
}

TEST_F(BadInput, NoPermission) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
    const std::string file = directory_.write("sw.json", kGood);
    std::filesystem::create_directories(directory_.path() + "/run");
    const Ending ending = run({"--name", "sw1", "--config", file, "--run-dir", directory_.path() + "/run"}, 65'534);
    if (ending.code == 127) GTEST_SKIP() << "the program cannot be reached by another user";
    expect(ending, 1, {"/run/sw1: cannot be made: Permission denied"});
}

TEST_F(BadInput, TooLittleMemory) {
    const std::string file = directory_.write(
        "sw.json", R"({"PORT": {"Ethernet0": {}}, "VROCE_PORT": {"Ethernet0": {"devargs": "memif"}}})");
    expect(run({"--name", "sw1", "--config", file, "--run-dir", directory_.path(), "--memory-mib", "32"}), 1,
           {"--memory-mib \"32\" is too small for 1 ports; allowed: "});
}

}  // namespace
}  // namespace vroce::sw
