// Shared memory whose owner truncates it and punches holes into it while the NIC holds a mapping.
#include "nic/memory/mapped_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace vroce::nic {
namespace {

class MappedMemoryTest : public ::testing::Test {
protected:
    static constexpr std::uint64_t kBytes = 64 * 1024;
    MappedMemoryTest() : fd_(memfd_create("application", MFD_CLOEXEC)) {
        if (ftruncate(fd_, kBytes) != 0) abort();
        own_ = static_cast<std::uint8_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
        for (std::uint64_t i = 0; i < kBytes; ++i) own_[i] = static_cast<std::uint8_t>(i * 7);
    }
    ~MappedMemoryTest() override {
        munmap(own_, kBytes);
        close(fd_);
    }
    int fd_;
    std::uint8_t* own_;
};

TEST_F(MappedMemoryTest, ReadsAndWritesAtAnyOffset) {
    const auto mapped = MappedMemory::map(fd_, 4'097, 10'000, true);
    ASSERT_NE(mapped, nullptr);
    std::array<std::uint8_t, 9> bytes{};
    ASSERT_TRUE(mapped->read(3, bytes));
    for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], static_cast<std::uint8_t>((4'100 + i) * 7));
    bytes.fill(0xAB);
    ASSERT_TRUE(mapped->write(9'991, bytes));
    EXPECT_EQ(own_[4'097 + 9'999], 0xAB);
    EXPECT_NE(own_[4'097 + 10'000], 0xAB);
}

TEST_F(MappedMemoryTest, TruncationIsAFaultThatRetiresTheMapping) {
    const auto mapped = MappedMemory::map(fd_, 0, kBytes, true);
    ASSERT_NE(mapped, nullptr);
    std::array<std::uint8_t, 8> bytes{};
    ASSERT_TRUE(mapped->read(kBytes - 8, bytes));
    ASSERT_EQ(ftruncate(fd_, 4'096), 0);
    EXPECT_FALSE(mapped->read(kBytes - 8, bytes));
    EXPECT_TRUE(mapped->retired());
    EXPECT_FALSE(mapped->read(0, bytes)) << "a region of which a part is gone is gone as a whole";
    EXPECT_FALSE(mapped->write(0, bytes));
}

TEST_F(MappedMemoryTest, TruncationUnderAWriteIsAFaultToo) {
    const auto mapped = MappedMemory::map(fd_, 0, kBytes, true);
    ASSERT_NE(mapped, nullptr);
    ASSERT_EQ(ftruncate(fd_, 0), 0);
    const std::array<std::uint8_t, 100> bytes{};
    EXPECT_FALSE(mapped->write(5'000, bytes));
    EXPECT_TRUE(mapped->retired());
}

TEST_F(MappedMemoryTest, APunchedHoleReadsAsZerosAndCrashesNobody) {
    const auto mapped = MappedMemory::map(fd_, 0, kBytes, true);
    ASSERT_NE(mapped, nullptr);
    ASSERT_EQ(fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4'096, 4'096), 0);
    std::array<std::uint8_t, 8> bytes{};
    bytes.fill(1);
    ASSERT_TRUE(mapped->read(4'096, bytes));
    EXPECT_EQ(bytes, (std::array<std::uint8_t, 8>{}));
}

TEST_F(MappedMemoryTest, FaultsAreCaughtAgainAndAgain) {
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(ftruncate(fd_, kBytes), 0);
        const auto mapped = MappedMemory::map(fd_, 0, kBytes, false);
        ASSERT_NE(mapped, nullptr);
        ASSERT_EQ(ftruncate(fd_, 0), 0);
        std::array<std::uint8_t, 8> bytes{};
        ASSERT_FALSE(mapped->read(0, bytes)) << i;
    }
}

TEST_F(MappedMemoryTest, AnEndArrivesWholeWhateverItsAlignment) {
    const auto mapped = MappedMemory::map(fd_, 0, kBytes, true);
    ASSERT_NE(mapped, nullptr);
    for (std::uint64_t offset = 100; offset < 116; ++offset) {
        for (std::size_t length = 0; length <= 64; ++length) {
            std::array<std::uint8_t, 64> bytes{};
            for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::uint8_t>(offset * 7 + length + i);
            own_[offset - 1] = own_[offset + length] = 0xFE;
            ASSERT_TRUE(mapped->write_in_order(offset, std::span(bytes).first(length)));
            ASSERT_EQ(std::memcmp(own_ + offset, bytes.data(), length), 0) << offset << ' ' << length;
            ASSERT_EQ(own_[offset - 1], 0xFE);
            ASSERT_EQ(own_[offset + length], 0xFE);
        }
    }
}

TEST_F(MappedMemoryTest, WhatIsOutsideTheRegionIsRefusedAndRetiresNothing) {
    const auto mapped = MappedMemory::map(fd_, 0, 100, true);
    ASSERT_NE(mapped, nullptr);
    std::array<std::uint8_t, 8> bytes{};
    EXPECT_FALSE(mapped->read(93, bytes));
    EXPECT_FALSE(mapped->write(~std::uint64_t{0}, bytes));
    EXPECT_FALSE(mapped->write_in_order(101, std::span(bytes).first(0)));
    EXPECT_FALSE(mapped->retired());
    EXPECT_TRUE(mapped->read(92, bytes));
}

TEST_F(MappedMemoryTest, OutlivesTheProcessThatShared) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        // The mapping is this process's own file: nobody else has it once it is gone.
        const int fd = memfd_create("child", MFD_CLOEXEC);
        if (ftruncate(fd, 4'096) != 0 || pwrite(fd, "child", 5, 0) != 5) _exit(1);
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), fd);
        if (write(ends[1], path, sizeof path) != sizeof path) _exit(1);
        char go = 0;
        _exit(read(ends[1], &go, 1) == 1 ? 0 : 1);
    }
    char path[64] = {};
    ASSERT_EQ(read(ends[0], path, sizeof path), static_cast<ssize_t>(sizeof path));
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    const auto mapped = MappedMemory::map(fd, 0, 4'096, true);
    close(fd);
    ASSERT_NE(mapped, nullptr);
    ASSERT_EQ(write(ends[0], "x", 1), 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    std::array<std::uint8_t, 5> bytes{};
    EXPECT_TRUE(mapped->read(0, bytes)) << "the pages live as long as the mapping: no fault, no signal";
    EXPECT_EQ(std::memcmp(bytes.data(), "child", 5), 0);
    close(ends[0]);
    close(ends[1]);
}

std::uint64_t mapped_bytes_of(const std::string& name) {
    std::ifstream maps("/proc/self/maps");
    std::uint64_t sum = 0;
    for (std::string line; std::getline(maps, line);) {
        if (line.find(name) == std::string::npos) continue;
        const std::size_t dash = line.find('-');
        sum += std::stoull(line.substr(dash + 1), nullptr, 16) - std::stoull(line.substr(0, dash), nullptr, 16);
    }
    return sum;
}

TEST(MappedHugePages, AreMappedInWholePagesAndUnmappedAgain) {
    constexpr std::uint64_t kHuge = 2u << 20;
    const int fd = memfd_create("vroce-test-huge", MFD_CLOEXEC | MFD_HUGETLB);
    if (fd < 0 || ftruncate(fd, 2 * kHuge) != 0) GTEST_SKIP() << "this kernel has no huge pages of 2 MiB";
    auto mapped = MappedMemory::map(fd, kHuge - 10, 100, true);
    if (mapped == nullptr) GTEST_SKIP() << "no huge page is free";
    EXPECT_EQ(mapped_bytes_of("vroce-test-huge"), 2 * kHuge);
    std::array<std::uint8_t, 100> bytes{};
    bytes.fill(3);
    if (!mapped->write(0, bytes)) GTEST_SKIP() << "no huge page is free";
    EXPECT_TRUE(mapped->read(0, bytes));
    ASSERT_EQ(ftruncate(fd, 0), 0);
    EXPECT_FALSE(mapped->read(0, bytes)) << "truncated: a fault, here too";
    mapped.reset();
    EXPECT_EQ(mapped_bytes_of("vroce-test-huge"), 0u);
    close(fd);
}

TEST(MappedHugePages, APunchedHoleIsAFaultOnceNoPageIsFreeOrReadsAsZeros) {
    constexpr std::uint64_t kHuge = 2u << 20;
    const int fd = memfd_create("vroce-test-huge", MFD_CLOEXEC | MFD_HUGETLB);
    if (fd < 0 || ftruncate(fd, kHuge) != 0) GTEST_SKIP() << "this kernel has no huge pages of 2 MiB";
    const auto mapped = MappedMemory::map(fd, 0, kHuge, true);
    std::array<std::uint8_t, 8> bytes{};
    bytes.fill(9);
    if (mapped == nullptr || !mapped->write(0, bytes)) GTEST_SKIP() << "no huge page is free";
    ASSERT_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kHuge), 0);
    if (mapped->read(0, bytes))
        EXPECT_EQ(bytes, (std::array<std::uint8_t, 8>{})) << "never what was there before";
    else
        EXPECT_TRUE(mapped->retired());
    close(fd);
}

TEST_F(MappedMemoryTest, WhatIsNotInTheFileIsNotMapped) {
    EXPECT_EQ(MappedMemory::map(fd_, 0, kBytes + 1, true), nullptr);
    EXPECT_EQ(MappedMemory::map(fd_, kBytes, 1, true), nullptr);
    EXPECT_EQ(MappedMemory::map(fd_, ~std::uint64_t{0}, 8, true), nullptr);
    EXPECT_EQ(MappedMemory::map(fd_, 0, 0, true), nullptr);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_EQ(MappedMemory::map(ends[0], 0, 8, true), nullptr);
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace vroce::nic
