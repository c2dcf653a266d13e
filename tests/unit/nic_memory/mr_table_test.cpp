#include "nic/memory/mr_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "common/base/random.hpp"

namespace vroce::nic {
namespace {

MrTable make_table(std::size_t capacity, std::uint64_t seed = 1) {
    return MrTable(capacity,
                   [random = Random(seed)]() mutable { return static_cast<std::uint32_t>(random.next_u64()); });
}

MemoryRegion region(PdId pd, std::uint64_t iova, std::uint64_t length, std::uint32_t access) {
    MemoryRegion r;
    r.pd = pd;
    r.addr = 0x7000'0000;
    r.iova = iova;
    r.length = length;
    r.access = access;
    return r;
}

TEST(MrTable, ChecksDomainBoundsAndRights) {
    MrTable table = make_table(8);
    const std::uint32_t key = table.insert(region(3, 0x1000, 100, kAccessLocalWrite | kAccessRemoteRead))->key;
    const auto verdict = [&](PdId pd, std::uint64_t va, std::uint64_t length, std::uint32_t access) {
        return table.check(key, pd, va, length, access).verdict;
    };
    EXPECT_EQ(verdict(3, 0x1000, 100, kAccessRemoteRead), RemoteAccess::Ok);
    EXPECT_EQ(verdict(3, 0x1064, 0, 0), RemoteAccess::Ok) << "nothing, at the end";
    EXPECT_EQ(verdict(3, 0x1000, 101, 0), RemoteAccess::OutOfBounds);
    EXPECT_EQ(verdict(3, 0x0FFF, 1, 0), RemoteAccess::OutOfBounds);
    EXPECT_EQ(verdict(3, 0x1065, 0, 0), RemoteAccess::OutOfBounds);
    EXPECT_EQ(verdict(3, 0x1001, ~std::uint64_t{0}, 0), RemoteAccess::OutOfBounds) << "a sum that wraps";
    EXPECT_EQ(verdict(4, 0x1000, 1, 0), RemoteAccess::WrongPd);
    EXPECT_EQ(verdict(3, 0x1000, 1, kAccessRemoteWrite), RemoteAccess::NoPermission);
    EXPECT_EQ(table.check(key ^ 1, 3, 0x1000, 1, 0).verdict, RemoteAccess::BadKey);
}

TEST(MrTable, AKeyThatWasErasedIsBad) {
    MrTable table = make_table(8);
    const std::uint32_t key = table.insert(region(1, 0, 1, 0))->key;
    table.erase(key);
    EXPECT_EQ(table.check(key, 1, 0, 1, 0).verdict, RemoteAccess::BadKey);
    EXPECT_EQ(table.size(), 0u);
}

TEST(MrTable, RefusesBeyondItsCapacity) {
    MrTable table = make_table(3);
    for (int i = 0; i < 3; ++i) ASSERT_NE(table.insert(region(1, 0, 1, 0)), nullptr);
    EXPECT_EQ(table.insert(region(1, 0, 1, 0)), nullptr);
}

TEST(MrTable, HoldsSixtyFourThousandAndFindsEachWhileOthersGo) {
    constexpr std::size_t kRegions = 65'536;
    MrTable table = make_table(kRegions, 7);
    std::vector<std::uint32_t> keys;
    for (std::size_t i = 0; i < kRegions; ++i) keys.push_back(table.insert(region(1, i * 16, 16, 0))->key);
    EXPECT_EQ(std::set<std::uint32_t>(keys.begin(), keys.end()).size(), kRegions);
    for (std::size_t i = 0; i < kRegions; i += 2) table.erase(keys[i]);
    for (std::size_t i = 0; i < kRegions; ++i) {
        const auto verdict = table.check(keys[i], 1, i * 16, 16, 0).verdict;
        ASSERT_EQ(verdict, i % 2 == 0 ? RemoteAccess::BadKey : RemoteAccess::Ok) << i;
    }
    EXPECT_EQ(table.size(), kRegions / 2);
}

TEST(MrTable, ErasingKeepsRunsOfCollidingKeysTogether) {
    // All keys have one home: the worst run that linear probing can have.
    std::uint32_t next = 0;
    MrTable table(8, [&next] { return (next += 16) | 5; });
    std::vector<std::uint32_t> keys;
    for (int i = 0; i < 8; ++i) keys.push_back(table.insert(region(1, 0, 1, 0))->key);
    table.erase(keys[3]);
    table.erase(keys[0]);
    for (const std::size_t i : {1u, 2u, 4u, 5u, 6u, 7u}) EXPECT_NE(table.find(keys[i]), nullptr) << i;
}

}  // namespace
}  // namespace vroce::nic
