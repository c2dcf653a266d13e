// Shared memory whose owner truncates it and punches holes into it while the NIC holds a mapping.
#include "nic/memory/mapped_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>

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
