// Values in options: what is taken, and that everything else is refused.
#include "nic/control/values.hpp"

#include <gtest/gtest.h>

namespace vroce::nic {
namespace {

TEST(Values, MacAddresses) {
    EXPECT_EQ(text_of(*parse_mac("02:00:0a:FF:00:01")), "02:00:0a:ff:00:01");
    for (const char* wrong :
         {"", "02:00", "02:00:00:00:00:0", "02:00:00:00:00:001", "02-00-00-00-00-01", "0g:00:00:00:00:01",
          "01:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "+2:00:00:00:00:01", "02:00:00:00:00:01 "}) {
        EXPECT_FALSE(parse_mac(wrong)) << wrong;
    }
}

TEST(Values, InterfaceAddresses) {
    const auto v4 = parse_interface_address("10.0.0.1/24");
    ASSERT_TRUE(v4);
    EXPECT_TRUE(v4->address.is_ipv4());
    EXPECT_EQ(text_of(v4->address), "10.0.0.1");
    EXPECT_EQ(v4->prefix_length, 24);
    const auto v6 = parse_interface_address("fd00::1/64");
    ASSERT_TRUE(v6);
    EXPECT_EQ(text_of(v6->address), "fd00::1");
    for (const char* wrong :
         {"", "10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/0", "10.0.0.1/24x", "10.0.0/24", "0.0.0.0/8",
          "127.0.0.1/8", "224.0.0.1/24", "ff02::1/64", "::1/128", "fd00::1/129", "eth0/24", "10.0.0.1/-1"}) {
        EXPECT_FALSE(parse_interface_address(wrong)) << wrong;
    }
}

TEST(Values, Speeds) {
    EXPECT_EQ(parse_speed("10G"), 10'000'000'000u);
    EXPECT_EQ(parse_speed("2.5G"), 2'500'000'000u);
    EXPECT_EQ(parse_speed("10000M"), 10'000'000'000u);
    for (const char* wrong : {"", "G", "10", "10g", "10 G", "-10G", "0G", "1T", "801G", "9M", "nanG", "infG", "10GG"}) {
        EXPECT_FALSE(parse_speed(wrong)) << wrong;
    }
}

TEST(Values, Numbers) {
    EXPECT_EQ(parse_number("4119", 0, 5'000), 4'119u);
    EXPECT_EQ(parse_number("0x1017", 0, 5'000), 4'119u);
    for (const char* wrong : {"", "0x", "-1", "1.0", "5001", "99999999999", "12a", " 1"}) {
        EXPECT_FALSE(parse_number(wrong, 0, 5'000)) << wrong;
    }
}

TEST(Values, Names) {
    EXPECT_TRUE(is_name("h1"));
    EXPECT_TRUE(is_name("host-1_b"));
    for (const char* wrong : {"", ".", "..", "a/b", "-a", "a.b", "a b", "abcdefghijklmnopqrstuvwxyz0123456"}) {
        EXPECT_FALSE(is_name(wrong)) << wrong;
    }
    EXPECT_TRUE(is_interface_name("eth0.10"));
    EXPECT_FALSE(is_interface_name("sixteen-letters0"));
}

}  // namespace
}  // namespace vroce::nic
