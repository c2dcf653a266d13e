// The command's table: exit codes of right and wrong words. What the messages say: tests/e2e/test_input.py.
#include "tools/cli/command.hpp"

#include <gtest/gtest.h>

#include <set>

namespace vroce::cli {
namespace {

TEST(Commands, EveryCommandExplainsItselfAndItsParameters) {
    std::set<std::string_view> words;
    for (const Command& command : all_commands()) {
        EXPECT_TRUE(words.insert(command.words).second) << command.words;
        EXPECT_FALSE(command.summary.empty()) << command.words;
        for (const Parameter& p : command.parameters) EXPECT_FALSE(p.help.empty()) << command.words << " " << p.name;
    }
}

TEST(Commands, EveryShowPrintsJson) {
    for (const Command& command : all_commands()) {
        if (command.words.rfind("show ", 0) != 0) continue;
        bool json = false;
        for (const Parameter& p : command.parameters) json = json || p.name == "-j, --json";
        EXPECT_TRUE(json) << command.words;
    }
}

TEST(Dispatch, HelpIsNoError) {
    EXPECT_EQ(dispatch({"--help"}), 0);
    EXPECT_EQ(dispatch({"lab", "--help"}), 0);
    EXPECT_EQ(dispatch({"lab", "up", "--help"}), 0);
    EXPECT_EQ(dispatch({"fault", "set", "-h"}), 0);
    EXPECT_EQ(dispatch({"--version"}), 0);
}

TEST(Dispatch, WrongWordsAreUsage) {
    for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                   {"x"},
                                                                   {"lab"},
                                                                   {"lab", "x"},
                                                                   {"lab", "up"},
                                                                   {"lab", "status", "--json=1"},
                                                                   {"lab", "status", "-j", "-j"},
                                                                   {"lab", "status", "--", "true"},
                                                                   {"lab", "exec", "h1", "--"},
                                                                   {"show", "ports", "on"},
                                                                   {"run", "--vm"}}) {
        EXPECT_EQ(dispatch(words), 2);
    }
}

TEST(Arguments, RunDirectoryIsAbsoluteAndWithoutSlashAtItsEnd) {
    Arguments arguments;
    arguments.set("run-dir", "/run/x/../y/");
    EXPECT_EQ(arguments.run_dir(), "/run/y");
    arguments.set("run-dir", "relative");
    EXPECT_EQ(arguments.run_dir().front(), '/');
}

}  // namespace
}  // namespace vroce::cli
