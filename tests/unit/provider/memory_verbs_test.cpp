#include <sys/mman.h>

#include <cstdlib>

#include "tests/unit/provider/opened_device.hpp"

namespace vroce::provider::test {
namespace {

constexpr std::size_t kPage = 4096;
constexpr int kWrite = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

class MemoryVerbs : public OpenedDevice {
protected:
    /// Registers as ibv_reg_mr does; 0 or errno, and deregisters again.
    int try_register(void* addr, std::size_t length, int access, std::uint64_t iova = 0) {
        ibv_mr* mr = reg_mr(pd_, addr, length, iova != 0 ? iova : reinterpret_cast<std::uint64_t>(addr), access);
        if (mr == nullptr) return errno;
        mr->context = verbs();
        EXPECT_NE(mr->lkey, 0u);
        return dereg_mr(reinterpret_cast<verbs_mr*>(mr));
    }
    static char* map(std::size_t bytes, int protection, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1) {
        void* address = mmap(nullptr, bytes, protection, flags, fd, 0);
        EXPECT_NE(address, MAP_FAILED);
        return static_cast<char*>(address);
    }
};

TEST_F(MemoryVerbs, RegistersAndDeregisters) {
    std::vector<char> buffer(100);
    EXPECT_EQ(try_register(buffer.data(), buffer.size(), kWrite), 0);
    EXPECT_EQ(nic_.last_mr.addr, reinterpret_cast<std::uint64_t>(buffer.data()));
    EXPECT_EQ(nic_.last_mr.length, 100u);
    EXPECT_FALSE(nic_.last_mr_had_fd);
    EXPECT_EQ(nic_.count(VROCE_DEREG_MR), 1u);
}

TEST_F(MemoryVerbs, FaultsThePagesIn) {
    char* memory = map(16 * kPage, PROT_READ | PROT_WRITE);
    EXPECT_EQ(try_register(memory, 16 * kPage, kWrite), 0);
    unsigned char resident[16] = {};
    ASSERT_EQ(mincore(memory, 16 * kPage, resident), 0);
    for (unsigned char page : resident) EXPECT_EQ(page & 1, 1);
    munmap(memory, 16 * kPage);
}

TEST_F(MemoryVerbs, AHoleIsEFAULT) {
    char* memory = map(4 * kPage, PROT_READ | PROT_WRITE);
    munmap(memory + 2 * kPage, kPage);
    EXPECT_EQ(try_register(memory, 4 * kPage, kWrite), EFAULT);
    EXPECT_EQ(try_register(memory, 2 * kPage, kWrite), 0);
    munmap(memory, 4 * kPage);
    EXPECT_EQ(nic_.count(VROCE_REG_MR), 1u) << "the NIC was asked for memory that is not there";
}

TEST_F(MemoryVerbs, ReadOnlyMemoryTakesNoWrites) {
    char* memory = map(kPage, PROT_READ);
    EXPECT_EQ(try_register(memory, kPage, kWrite), EINVAL);
    EXPECT_EQ(try_register(memory, kPage, IBV_ACCESS_REMOTE_READ), 0);
    munmap(memory, kPage);
}

TEST_F(MemoryVerbs, ChecksTheAccessFlags) {
    char buffer[64];
    EXPECT_EQ(try_register(buffer, 64, IBV_ACCESS_REMOTE_WRITE), EINVAL);
    EXPECT_EQ(try_register(buffer, 64, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
    EXPECT_EQ(try_register(buffer, 64, kWrite | IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
    EXPECT_EQ(try_register(buffer, 64, kWrite | IBV_ACCESS_MW_BIND), EOPNOTSUPP);
    EXPECT_EQ(try_register(buffer, 64, kWrite | (1 << 15)), EINVAL);
    EXPECT_EQ(try_register(buffer, 64, kWrite | IBV_ACCESS_RELAXED_ORDERING), 0);
    EXPECT_EQ(nic_.last_mr.access, static_cast<std::uint32_t>(kWrite));
}

TEST_F(MemoryVerbs, ChecksTheRange) {
    char buffer[64];
    EXPECT_EQ(try_register(buffer, 0, kWrite), EINVAL);
    EXPECT_EQ(try_register(reinterpret_cast<void*>(~std::uintptr_t{0} - 10), 64, kWrite), EINVAL);
}

TEST_F(MemoryVerbs, TakesAnotherAddressForTheWire) {
    char buffer[64];
    EXPECT_EQ(try_register(buffer, 64, kWrite, 0x5000), 0);
    EXPECT_EQ(nic_.last_mr.iova, 0x5000u);
    EXPECT_EQ(try_register(buffer, 64, kWrite | IBV_ACCESS_ZERO_BASED), 0);
    EXPECT_EQ(nic_.last_mr.iova, 0u);
}

TEST_F(MemoryVerbs, HandsOverTheFileOfASharedMapping) {
    const int fd = memfd_create("region", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, 64 * kPage), 0);
    char* memory = map(64 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    EXPECT_EQ(try_register(memory + kPage + 16, 32 * kPage, kWrite), 0);
    EXPECT_TRUE(nic_.last_mr_had_fd);
    EXPECT_EQ(nic_.last_mr.fd_offset, kPage + 16);
    EXPECT_EQ(try_register(memory, kPage, kWrite), 0);
    EXPECT_FALSE(nic_.last_mr_had_fd) << "a small region is not worth a mapping";
    munmap(memory, 64 * kPage);
    close(fd);
}

TEST_F(MemoryVerbs, KeepsItsRegionWhenTheNicRefusesToLetGo) {
    char buffer[64];
    ibv_mr* mr = reg_mr(pd_, buffer, 64, 0, kWrite);
    ASSERT_NE(mr, nullptr);
    mr->context = verbs();
    nic_.refuse[VROCE_DEREG_MR] = EBUSY;
    EXPECT_EQ(dereg_mr(reinterpret_cast<verbs_mr*>(mr)), EBUSY);
    nic_.refuse.clear();
    EXPECT_EQ(dereg_mr(reinterpret_cast<verbs_mr*>(mr)), 0);
}

}  // namespace
}  // namespace vroce::provider::test
