#include "provider/src/maps.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace vroce::provider {
namespace {

constexpr std::size_t kPage = 4096;

std::uint64_t number(const void* address) {
    return reinterpret_cast<std::uint64_t>(address);
}

TEST(Maps, ParsesALine) {
    const auto m = parse_mapping("7f0000001000-7f0000003000 rw-s 00002000 00:01 1027    /memfd:a b (deleted)");
    ASSERT_TRUE(m.has_value());
    EXPECT_EQ(m->begin, 0x7f0000001000u);
    EXPECT_EQ(m->end, 0x7f0000003000u);
    EXPECT_TRUE(m->shared);
    EXPECT_TRUE(m->writable);
    EXPECT_EQ(m->file_offset, 0x2000u);
    EXPECT_EQ(m->device, makedev(0, 1));
    EXPECT_EQ(m->inode, 1027u);
    EXPECT_EQ(m->path, "/memfd:a b (deleted)");
}

TEST(Maps, ParsesALineWithoutPath) {
    const auto m = parse_mapping("1000-2000 r--p 00000000 00:00 0 ");
    ASSERT_TRUE(m.has_value());
    EXPECT_FALSE(m->shared);
    EXPECT_FALSE(m->writable);
    EXPECT_TRUE(m->path.empty());
}

TEST(Maps, RefusesWhatIsNoLine) {
    EXPECT_FALSE(parse_mapping(""));
    EXPECT_FALSE(parse_mapping("zz-yy rw-p 0 0:0 0"));
    EXPECT_FALSE(parse_mapping("2000-1000 rw-p 00000000 00:00 0"));
    EXPECT_FALSE(parse_mapping("1000-2000 rw 00000000 00:00 0"));
}

class MapsOfMemfd : public testing::Test {
protected:
    void SetUp() override {
        fd_ = memfd_create("maps-test", MFD_CLOEXEC);
        ASSERT_EQ(ftruncate(fd_, 8 * kPage), 0);
        address_ = static_cast<char*>(mmap(nullptr, 8 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
        ASSERT_NE(address_, MAP_FAILED);
    }
    void TearDown() override {
        munmap(address_, 8 * kPage);
        if (fd_ >= 0) close(fd_);
    }
    int fd_ = -1;
    char* address_ = nullptr;
};

TEST_F(MapsOfMemfd, FindsTheFileAndItsOffset) {
    const auto m = find_mapping(number(address_) + kPage + 5, 2 * kPage);
    ASSERT_TRUE(m.has_value());
    EXPECT_EQ(m->begin, number(address_));
    const int found = open_mapped_file(*m);
    ASSERT_GE(found, 0);
    EXPECT_TRUE(is_memory_file(found));
    address_[100] = 'x';
    char byte = 0;
    EXPECT_EQ(pread(found, &byte, 1, 100), 1);
    EXPECT_EQ(byte, 'x');
    close(found);
}

TEST_F(MapsOfMemfd, JoinsNeighboursOfTheSameFile) {
    // Another protection makes two mappings of one; the file goes on across the border.
    ASSERT_EQ(mprotect(address_ + 4 * kPage, 4 * kPage, PROT_READ), 0);
    const auto m = find_mapping(number(address_), 8 * kPage);
    ASSERT_TRUE(m.has_value());
    EXPECT_FALSE(m->writable);
    EXPECT_EQ(m->end, number(address_) + 8 * kPage);
}

TEST_F(MapsOfMemfd, DoesNotGoBeyondTheFile) {
    EXPECT_FALSE(find_mapping(number(address_), 64 * kPage));
}

TEST_F(MapsOfMemfd, FindsNoFileWhenAHoleIsInTheRange) {
    ASSERT_EQ(munmap(address_ + 2 * kPage, kPage), 0);
    EXPECT_FALSE(find_mapping(number(address_), 8 * kPage));
    EXPECT_FALSE(find_mapping(number(address_) + 2 * kPage, kPage));
}

TEST(Maps, PrivateMemoryHasNoFile) {
    std::vector<char> heap(16 * kPage);
    EXPECT_FALSE(find_mapping(number(heap.data()), heap.size()));
    int on_stack = 0;
    EXPECT_FALSE(find_mapping(number(&on_stack), sizeof on_stack));
}

TEST(Maps, ADiskFileIsNoMemoryFile) {
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    EXPECT_FALSE(is_memory_file(fd));
    close(fd);
}

}  // namespace
}  // namespace vroce::provider
