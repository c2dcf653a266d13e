#include "nic/wire/describe.hpp"

#include <gtest/gtest.h>

#include "nic/wire/bytes.hpp"
#include "tests/unit/nic_wire/vectors.hpp"

namespace vroce::nic::test {
namespace {

std::vector<std::uint8_t> frame_of(const Vector& vector, std::uint16_t ether_type) {
    const auto packet = from_hex(vector.hex);
    std::vector<std::uint8_t> frame(14 + packet.size());
    store_be16(&frame[12], ether_type);
    std::copy(packet.begin(), packet.end(), frame.begin() + 14);
    return frame;
}

std::string of(const Vector& vector, std::uint16_t ether_type) {
    return describe(frame_of(vector, ether_type));
}

TEST(Describe, OneLineForEachKindOfPacket) {
    EXPECT_EQ(of(kVectors[0], 0x0800), "10.0.17.1 > 10.0.18.1 CN CNP qp 0x118 psn 0 BECN");
    EXPECT_EQ(of(kVectors[1], 0x8915),
              "15.0.0.2 > 15.0.0.2 RC WRITE_ONLY qp 0x10a psn 10979516 A va 0x55d4c0726000 rkey 0x47b3 "
              "dma 5 len 5");
    EXPECT_EQ(of(kVectors[5], 0x0800), "192.168.70.6 > 192.168.70.4 RC ACKNOWLEDGE qp 0x45 psn 0 ACK msn 1");
}

TEST(Describe, WhatIsWrongIsSaid) {
    auto frame = frame_of(kVectors[5], 0x0800);
    frame.back() ^= 1;
    EXPECT_NE(describe(frame).find("bad ICRC"), std::string::npos);
    frame.resize(30);
    EXPECT_EQ(describe(frame), "30 bytes, truncated");
    EXPECT_EQ(describe({}), "0 bytes, not RoCE");
}

}  // namespace
}  // namespace vroce::nic::test
