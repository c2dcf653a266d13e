#include "provider/src/process_guard.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vroce::provider {
namespace {

int exit_code_of_child(int (*child)()) {
    const pid_t pid = fork();
    if (pid == 0) _exit(child());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::uint32_t parents_epoch = 0;

TEST(ProcessGuard, KeepsItsNumber) {
    const std::uint32_t epoch = ProcessGuard::enter();
    ASSERT_NE(epoch, 0u);
    EXPECT_EQ(ProcessGuard::enter(), epoch);
    EXPECT_TRUE(ProcessGuard::is_in(epoch));
}

TEST(ProcessGuard, AForkedChildIsOutside) {
    parents_epoch = ProcessGuard::enter();
    EXPECT_EQ(exit_code_of_child([] { return ProcessGuard::is_in(parents_epoch) ? 1 : 0; }), 0);
    EXPECT_TRUE(ProcessGuard::is_in(parents_epoch));
}

TEST(ProcessGuard, AChildThatEntersGetsANumberOfItsOwn) {
    parents_epoch = ProcessGuard::enter();
    EXPECT_EQ(exit_code_of_child([] {
                  const std::uint32_t mine = ProcessGuard::enter();
                  return mine != 0 && ProcessGuard::is_in(mine) && !ProcessGuard::is_in(parents_epoch) ? 0 : 1;
              }),
              0);
}

}  // namespace
}  // namespace vroce::provider
