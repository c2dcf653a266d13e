// What `lab up` remembers: it survives the way through the file, and a damaged file is said to be one.
#include "tools/lab/lab_state.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace vroce::tools {
namespace {

namespace fs = std::filesystem;

class LabStateTest : public testing::Test {
protected:
    LabStateTest()
        : run_dir_((fs::temp_directory_path() / ("vroce-lab-state-" + std::to_string(::getpid()))).string()) {
        fs::create_directories(run_dir_);
    }
    ~LabStateTest() override { fs::remove_all(run_dir_); }

    static LabState example() {
        LabState state{"two", "/x/two.json", {{"name", "two"}}, {}, {}};
        state.processes.push_back({"h1", "nic", {4711, 99}, "/run/h1/log"});
        state.places.push_back({"h1", "vm1", "vroce0", "eth0", "/run/netns/h1", "/run/h1/vm1", {"10.0.0.1/24"}});
        state.places.push_back({"h1", "vm2", "vroce1", "eth1", "/run/netns/h1", "/run/h1/vm2", {}});
        return state;
    }

    std::string run_dir_;
};

TEST_F(LabStateTest, NothingThereIsNoError) {
    const auto state = read_state(run_dir_);
    ASSERT_TRUE(state);
    EXPECT_FALSE(state->has_value());
}

TEST_F(LabStateTest, WhatIsWrittenIsRead) {
    ASSERT_TRUE(write_state(run_dir_, example()));
    const auto state = read_state(run_dir_);
    ASSERT_TRUE(state && state->has_value());
    EXPECT_EQ((*state)->processes.at(0).id, (ProcessId{4711, 99}));
    EXPECT_EQ((*state)->places.at(1).path, "/run/h1/vm2");
    EXPECT_EQ((*state)->places.at(0).addresses, std::vector<std::string>{"10.0.0.1/24"});
    EXPECT_EQ((*state)->definition, example().definition);
}

TEST_F(LabStateTest, DamagedFileIsAnErrorThatNamesIt) {
    for (const char* text : {"{", "[]", R"({"name": 7})"}) {
        std::ofstream(run_dir_ + "/lab.json") << text;
        const auto state = read_state(run_dir_);
        ASSERT_FALSE(state) << text;
        EXPECT_EQ(state.error().find(run_dir_ + "/lab.json is damaged"), 0u) << state.error();
    }
}

TEST_F(LabStateTest, HostAloneMeansItsFirstEndpoint) {
    EXPECT_EQ(find_place(example(), "h1")->vm, "vm1");
    EXPECT_EQ(find_place(example(), "h1/vm2")->vm, "vm2");
    for (const char* wrong : {"h2", "h1/vm3", "", "/vm1"}) {
        const auto place = find_place(example(), wrong);
        ASSERT_FALSE(place) << wrong;
        EXPECT_NE(place.error().find("there are h1/vm1, h1/vm2"), std::string::npos) << place.error();
    }
}

TEST_F(LabStateTest, LockIsHeldByOneAndLeavesNothing) {
    {
        const auto first = LabLock::take(run_dir_);
        ASSERT_TRUE(first);
        EXPECT_FALSE(LabLock::take(run_dir_));
    }
    EXPECT_FALSE(fs::exists(run_dir_ + ".lock"));
    EXPECT_TRUE(LabLock::take(run_dir_));
}

}  // namespace
}  // namespace vroce::tools
