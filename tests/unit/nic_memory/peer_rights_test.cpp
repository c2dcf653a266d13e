// Who may be reached by pid, when it is asked and ever after.
#include "nic/memory/peer_rights.hpp"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <thread>

#include "nic/memory/process_memory.hpp"
#include "tests/unit/nic_memory/application.hpp"
#include "tests/unit/nic_memory/slices.hpp"

namespace vroce::nic {
namespace {

void elsewhere(const std::function<void()>& what) {
    std::thread(what).join();
}

bool has_ptrace_right() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    return syscall(SYS_capget, &header, data.data()) == 0 && (data[0].effective & 1u << CAP_SYS_PTRACE) != 0;
}

CopyResult read_by(AddressSpace& memory, const Application& app) {
    std::array<std::uint8_t, 8> bytes{};
    const std::span<std::uint8_t> slice(bytes);
    const RemotePiece piece{app.address(), bytes.size()};
    return memory.read({&piece, 1}, {&slice, 1}, {});
}

CopyResult write_by(AddressSpace& memory, const Application& app) {
    const std::array<std::uint8_t, 8> bytes{};
    const RemotePiece piece{app.address(), bytes.size()};
    return memory.write({&piece, 1}, cut_into_slices(bytes), 0, {});
}

TEST(MayUsePid, EqualsMay) {
    const Application app;
    EXPECT_TRUE(may_use_pid(app.pid()));
}

TEST(MayUsePid, AskingKeepsTheRightsOfWhoAsks) {
    const bool had = has_ptrace_right();
    const Application app;
    static_cast<void>(may_use_pid(app.pid()));
    EXPECT_EQ(has_ptrace_right(), had);
}

TEST(MayUsePid, ALesserUserMayNot) {
    if (getuid() != 0) GTEST_SKIP() << "needs root to become another user";
    Application app;
    app.do_in_child(Application::BecomeNobody, 0, 0);
    EXPECT_FALSE(may_use_pid(app.pid()));
}

TEST(MayUsePid, ADeadProcessMayNot) {
    Application app;
    app.kill_now();
    EXPECT_FALSE(may_use_pid(app.pid()));
}

// The dangerous case: equals when the session began. The pid is still the same, and root may look into any process.
TEST(AccessByPid, EndsWhenTheProcessBecomesAnotherUser) {
    if (getuid() != 0) GTEST_SKIP() << "needs root to become another user";
    Application app;
    ASSERT_TRUE(may_use_pid(app.pid()));
    elsewhere([&] {
        PeerMemory memory(app.pid());
        EXPECT_EQ(read_by(memory, app), CopyResult::Done);
        app.do_in_child(Application::BecomeNobody, 0, 0);
        EXPECT_EQ(read_by(memory, app), CopyResult::Fault);
        EXPECT_EQ(write_by(memory, app), CopyResult::Fault);
    });
    HandedMemory handed(app.take_mem_fd());
    EXPECT_EQ(read_by(handed, app), CopyResult::Done) << "what was handed over is still the same address space";
}

TEST(AccessByPid, TakesThePrivilegeFromItsThreadOnly) {
    const bool had = has_ptrace_right();
    if (!had) GTEST_SKIP() << "needs CAP_SYS_PTRACE to lose it";
    elsewhere([] {
        EXPECT_TRUE(has_ptrace_right());
        EXPECT_TRUE(forgo_access_by_privilege());
        EXPECT_FALSE(has_ptrace_right());
    });
    EXPECT_TRUE(has_ptrace_right());
}

}  // namespace
}  // namespace vroce::nic
