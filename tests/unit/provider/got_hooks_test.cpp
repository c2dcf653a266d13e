#include "provider/kernel_abi/got_hooks.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

namespace vroce::provider {
namespace {

int hooked_reads = 0;

ssize_t counting_read(int fd, void* buffer, size_t size) {
    ++hooked_reads;
    return ::read(fd, buffer, size);
}

/// Mappings of libibverbs that may be written and those that may not, as one text.
std::string protections_of_libibverbs() {
    std::ifstream maps("/proc/self/maps");
    std::string all;
    for (std::string line; std::getline(maps, line);) {
        if (line.find("libibverbs.so") != std::string::npos) all += line + "\n";
    }
    return all;
}

class GotHooks : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0);
        channel_.fd = ends_[0];
        hooked_reads = 0;
    }
    void TearDown() override {
        const std::array original{GotHook{"libibverbs.so", "read", reinterpret_cast<void*>(&::read)}};
        install_got_hooks(original);
        close(ends_[0]);
        close(ends_[1]);
    }
    /// A call of the library that must come to read(2).
    int let_library_read() {
        ibv_cq* cq = nullptr;
        void* cq_context = nullptr;
        return ibv_get_cq_event(&channel_, &cq, &cq_context);
    }
    int ends_[2] = {-1, -1};
    ibv_comp_channel channel_{};
    const std::array<GotHook, 1> hooks_{GotHook{"libibverbs.so", "read", reinterpret_cast<void*>(&counting_read)}};
};

TEST_F(GotHooks, RedirectsTheLibrarysCallAndNobodyElses) {
    EXPECT_EQ(let_library_read(), -1);
    EXPECT_EQ(hooked_reads, 0);
    EXPECT_EQ(install_got_hooks(hooks_), 1u);
    EXPECT_EQ(let_library_read(), -1);
    EXPECT_EQ(hooked_reads, 1);
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), -1);
    EXPECT_EQ(hooked_reads, 1);
}

TEST_F(GotHooks, MayBeRepeated) {
    EXPECT_EQ(install_got_hooks(hooks_), 1u);
    EXPECT_EQ(install_got_hooks(hooks_), 1u);
    EXPECT_EQ(let_library_read(), -1);
    EXPECT_EQ(hooked_reads, 1);
}

TEST_F(GotHooks, LeavesTheTableReadOnly) {
    const std::string before = protections_of_libibverbs();
    EXPECT_EQ(install_got_hooks(hooks_), 1u);
    EXPECT_EQ(protections_of_libibverbs(), before);
}

TEST_F(GotHooks, CountsNothingWhereThereIsNothing) {
    const std::array unknown{GotHook{"libibverbs.so", "no_such_import", reinterpret_cast<void*>(&counting_read)},
                             GotHook{"libnowhere.so", "read", reinterpret_cast<void*>(&counting_read)}};
    EXPECT_EQ(install_got_hooks(unknown), 0u);
}

}  // namespace
}  // namespace vroce::provider
