#include "common/base/spsc_ring.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>

namespace vroce {
namespace {

TEST(SpscRing, FullAndEmptyAreAnswers) {
    const auto owner = std::make_unique<SpscRing<int, 4>>();
    SpscRing<int, 4>& ring = *owner;
    int value = 0;
    EXPECT_FALSE(ring.pop(value));
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.push(round * 4 + i));
        EXPECT_FALSE(ring.push(99));
        EXPECT_EQ(ring.claim(), nullptr);
        for (int i = 0; i < 4; ++i) {
            ASSERT_TRUE(ring.pop(value));
            EXPECT_EQ(value, round * 4 + i);
        }
        EXPECT_EQ(ring.front(), nullptr);
    }
}

TEST(SpscRing, ASlotIsSeenOnlyWhenItIsPublished) {
    SpscRing<int, 2> ring;
    *ring.claim() = 7;
    EXPECT_EQ(ring.front(), nullptr);
    ring.publish();
    ASSERT_NE(ring.front(), nullptr);
    EXPECT_EQ(*ring.front(), 7);
    ring.discard();
    EXPECT_EQ(ring.front(), nullptr);
}

TEST(SpscRing, CarriesWholeRecordsInOrderBetweenTwoThreads) {
    struct Record {
        std::uint64_t number;
        std::uint64_t check;
    };
    constexpr std::uint64_t kCount = 200'000;
    const auto ring = std::make_unique<SpscRing<Record, 64>>();
    std::thread producer([&] {
        for (std::uint64_t i = 0; i < kCount;) {
            if (ring->push({i, ~i}))
                ++i;
            else
                std::this_thread::yield();
        }
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < kCount;) {
        Record record{};
        if (!ring->pop(record)) {
            std::this_thread::yield();
            continue;
        }
        wrong += record.number != i || record.check != ~i ? 1 : 0;
        ++i;
    }
    producer.join();
    EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace vroce
