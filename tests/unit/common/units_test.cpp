#include "common/base/units.hpp"

#include <gtest/gtest.h>

namespace vroce {
namespace {

TEST(Units, RatesTimesAndSizes) {
    EXPECT_EQ(*parse_rate_bps("10G"), 10'000'000'000u);
    EXPECT_EQ(*parse_rate_bps("2500M"), 2'500'000'000u);
    EXPECT_EQ(*parse_rate_bps("123"), 123u);
    EXPECT_EQ(*parse_duration("50us"), microseconds(50));
    EXPECT_EQ(*parse_duration("0"), picoseconds(0));
    EXPECT_EQ(*parse_bytes("4MiB"), 4u << 20);
    EXPECT_DOUBLE_EQ(*parse_probability("0.5"), 0.5);
}

TEST(Units, RefusesWhatIsNotWhollyUnderstood) {
    for (const char* text :
         {"", "G", "10g", "10GG", "-1G", " 10G", "1.5G", "99999999999999999999", "18446744073709551615G"})
        EXPECT_FALSE(static_cast<bool>(parse_rate_bps(text))) << text;
    for (const char* text : {"50", "us", "50 us", "9999999999999s"})
        EXPECT_FALSE(static_cast<bool>(parse_duration(text))) << text;
    for (const char* text : {"1.01", "-0.1", "nan", "0.5x", ""})
        EXPECT_FALSE(static_cast<bool>(parse_probability(text))) << text;
}

TEST(Units, PrintsRatesAsPeopleWriteThem) {
    EXPECT_EQ(format_rate(10'000'000'000), "10G");
    EXPECT_EQ(format_rate(2'500'000'000), "2500M");
    EXPECT_EQ(format_rate(7), "7");
}

}  // namespace
}  // namespace vroce
