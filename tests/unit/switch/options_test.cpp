// The command line and the memory plan.
#include "switch/io/options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "switch/io/memory_plan.hpp"

namespace vroce::sw {
namespace {

Result<Options> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "vroce-switch");
    return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, HaveDefaults) {
    unsetenv("VROCE_RUN_DIR");
    const Result<Options> options = parse({"--name", "sw1", "--config", "f.json"});
    ASSERT_TRUE(options) << options.error();
    EXPECT_EQ(options->run_dir, "/run/vroce");
    EXPECT_FALSE(options->busy);
    EXPECT_TRUE(options->rx_hold);
    EXPECT_FALSE(options->no_huge);
    EXPECT_FALSE(options->cpu);
}

TEST(Options, AreRead) {
    const Result<Options> options = parse({"--name", "sw1", "--config", "f.json", "--run-dir", "/tmp/r", "--cpu", "1",
                                           "--memory-mib", "256", "--no-huge", "--poll", "busy", "--rx-hold", "off"});
    ASSERT_TRUE(options) << options.error();
    EXPECT_EQ(options->name, "sw1");
    EXPECT_EQ(options->config, "f.json");
    EXPECT_EQ(options->run_dir, "/tmp/r");
    EXPECT_EQ(options->cpu, 1u);
    EXPECT_EQ(options->memory_mib, 256u);
    EXPECT_TRUE(options->no_huge);
    EXPECT_TRUE(options->busy);
    EXPECT_FALSE(options->rx_hold);
}

TEST(Options, TakeTheRunDirectoryFromTheEnvironment) {
    setenv("VROCE_RUN_DIR", "/tmp/elsewhere", 1);
    EXPECT_EQ(parse({"--name", "sw1", "--config", "f"})->run_dir, "/tmp/elsewhere");
    EXPECT_EQ(parse({"--name", "sw1", "--config", "f", "--run-dir", "/tmp/r"})->run_dir, "/tmp/r");
    unsetenv("VROCE_RUN_DIR");
}

TEST(Options, AreNotGuessed) {
    EXPECT_FALSE(parse({"--nam", "sw1", "--config", "f"}));
}

TEST(Options, HelpNeedsNothingElse) {
    EXPECT_TRUE(parse({"--help"})->help);
    EXPECT_TRUE(parse({"--version"})->version);
    EXPECT_NE(options_help().find("--rx-hold"), std::string::npos);
}

SwitchConfig ports(std::size_t count, std::uint32_t mtu) {
    SwitchConfig config;
    PortConfig port;
    port.mtu_bytes = mtu;
    config.ports.assign(count, port);
    return config;
}

TEST(MemoryPlan, HoldsAllQueuesRingsAndBursts) {
    const Result<MemoryPlan> plan = plan_memory(ports(2, 1'500), 2, std::nullopt);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->queue_packets, 4'096u);
    EXPECT_GT(plan->packets * 95 / 100, 2 * (plan->queue_packets + 2 * kDescriptors + kBurst));
    EXPECT_EQ(plan->frame_bytes, 9'216u);
}

TEST(MemoryPlan, MakesRoomForTheLargestMtuWithItsTags) {
    EXPECT_EQ(plan_memory(ports(1, 9'216), 1, std::nullopt)->frame_bytes, 9'238u);
}

TEST(MemoryPlan, ShortensQueuesRatherThanTakeTooMuch) {
    const Result<MemoryPlan> plan = plan_memory(ports(32, 9'100), 32, std::nullopt);
    ASSERT_TRUE(plan);
    EXPECT_LT(plan->queue_packets, 4'096u);
    EXPECT_LE(plan->memory_mib, 512u);
    EXPECT_EQ(plan_memory(ports(2, 9'100), 2, 96)->queue_packets, 2'048u);
}

TEST(MemoryPlan, RefusesWhatIsTooLittle) {
    const Result<MemoryPlan> plan = plan_memory(ports(8, 9'100), 8, 40);
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().find("--memory-mib \"40\" is too small for 8 ports; allowed: "), std::string::npos);
}

}  // namespace
}  // namespace vroce::sw
