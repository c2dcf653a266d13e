#include "nic/wire/psn.hpp"

#include <gtest/gtest.h>

namespace vroce::nic {
namespace {

TEST(Psn, IsTwentyFourBitsWide) {
    EXPECT_EQ(Psn(0x1FF'FFFF).value(), 0xFF'FFFFU);
    EXPECT_EQ((Psn(0xFF'FFFF) + 1).value(), 0U);
    EXPECT_EQ((Psn(0) - 1).value(), 0xFF'FFFFU);
}

TEST(Psn, DistanceIsSignedAndCrossesTheWrap) {
    EXPECT_EQ(distance(Psn(10), Psn(10)), 0);
    EXPECT_EQ(distance(Psn(10), Psn(13)), 3);
    EXPECT_EQ(distance(Psn(13), Psn(10)), -3);
    EXPECT_EQ(distance(Psn(0xFF'FFFE), Psn(1)), 3);
    EXPECT_EQ(distance(Psn(1), Psn(0xFF'FFFE)), -3);
}

TEST(Psn, HalfOfTheCircleIsBehind) {
    EXPECT_EQ(distance(Psn(0), Psn((1U << 23) - 1)), (1 << 23) - 1);
    EXPECT_EQ(distance(Psn(0), Psn(1U << 23)), -(1 << 23));
}

TEST(Psn, StepsGoForwardOnly) {
    EXPECT_EQ(steps(Psn(0xFF'FFFF), Psn(0)), 1U);
    EXPECT_EQ(steps(Psn(0), Psn(0xFF'FFFF)), 0xFF'FFFFU);
}

TEST(Psn, DistanceIsTheInverseOfAddition) {
    for (std::uint32_t from = 0; from < 1U << 24; from += 65'537)
        for (const std::uint32_t n : {0U, 1U, 255U, 65'536U, (1U << 23) - 1}) {
            EXPECT_EQ(distance(Psn(from), Psn(from) + n), static_cast<std::int32_t>(n));
            EXPECT_EQ(steps(Psn(from), Psn(from) + n), n);
        }
}

}  // namespace
}  // namespace vroce::nic
