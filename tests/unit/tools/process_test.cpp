// Processes of a lab: known by pid and start time, so that nobody else's process is ever ended.
#include "tools/lab/process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace vroce::tools {
namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

class ProcessTest : public testing::Test {
protected:
    ProcessTest() : log_((fs::temp_directory_path() / ("vroce-process-" + std::to_string(::getpid()))).string()) {}
    ~ProcessTest() override { fs::remove(log_); }
    Result<ProcessId> start(std::vector<std::string> argv) const {
        return spawn({std::move(argv), log_, log_ + "-run"});
    }

    std::string log_;
};

TEST_F(ProcessTest, WeAreAliveAndAnotherStartTimeIsNotUs) {
    const auto self = identify(::getpid());
    ASSERT_TRUE(self);
    EXPECT_TRUE(alive(*self));
    EXPECT_FALSE(alive({self->pid, self->start_time + 1}));
    EXPECT_FALSE(identify(0));
}

TEST_F(ProcessTest, SpawnedProcessIsFoundByItsRunDirectoryAndStopped) {
    const auto id = start({"/bin/sleep", "1000"});
    ASSERT_TRUE(id) << id.error();
    EXPECT_TRUE(alive(*id));
    const auto found = spawned_for(log_ + "-run");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0], *id);
    EXPECT_TRUE(stop(*id, milliseconds(5000)));
    EXPECT_FALSE(alive(*id));
    EXPECT_TRUE(spawned_for(log_ + "-run").empty());
}

TEST_F(ProcessTest, StoppingAnotherStartTimeSparesTheProcess) {
    const auto id = start({"/bin/sleep", "1000"});
    ASSERT_TRUE(id);
    EXPECT_TRUE(stop({id->pid, id->start_time + 1}, milliseconds(0)));
    EXPECT_TRUE(alive(*id));
    EXPECT_TRUE(stop(*id, milliseconds(5000)));
}

TEST_F(ProcessTest, OneThatIgnoresTermIsKilled) {
    const auto id = start({"/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"});
    ASSERT_TRUE(id);
    while (last_lines(log_, 1).find("ready") == std::string::npos) ::usleep(1000);
    EXPECT_TRUE(stop(*id, milliseconds(50)));
    EXPECT_FALSE(alive(*id));
}

TEST_F(ProcessTest, ProgramThatIsNotThereIsAnError) {
    const auto id = start({"/no/such/program"});
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error(), "/no/such/program: No such file or directory");
}

TEST_F(ProcessTest, EndIsToldWithExitCodeAndLastWords) {
    const auto id = start({"/bin/sh", "-c", "echo one; echo two; echo three; exit 3"});
    ASSERT_TRUE(id);
    std::optional<std::string> how;
    while (!(how = ended(*id))) ::usleep(1000);
    EXPECT_EQ(*how, "with exit code 3");
    EXPECT_EQ(last_lines(log_, 2), "    two\n    three");
    // Ending while it is asked for is no reason not to know how.
    for (int i = 0; i < 200; ++i) {
        const auto quick = start({"/bin/sh", "-c", "exit 4"});
        ASSERT_TRUE(quick);
        while (!(how = ended(*quick))) {
        }
        ASSERT_EQ(*how, "with exit code 4");
    }
    EXPECT_NE(last_lines("/no/such/log", 2).find("/no/such/log"), std::string::npos);
}

}  // namespace
}  // namespace vroce::tools
