// The ICRC against vectors from hardware and from other implementations, and bit by bit.
#include "nic/wire/icrc.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "nic/wire/frame.hpp"
#include "tests/unit/nic_wire/vectors.hpp"

namespace vroce::nic::test {

void PrintTo(const Vector& vector, std::ostream* out) {
    *out << vector.name;
}

namespace {

class IcrcVector : public testing::TestWithParam<Vector> {};

bool good(const std::vector<std::uint8_t>& bytes) {
    RoceFrame frame;
    return parse_envelope(bytes, frame) == FrameVerdict::Ok && icrc_ok(frame);
}

TEST_P(IcrcVector, IsReproduced) {
    const auto bytes = from_hex(GetParam().hex);
    RoceFrame frame;
    ASSERT_EQ(parse_envelope(bytes, frame), FrameVerdict::Ok);
    EXPECT_EQ(icrc(frame.encapsulation, frame.l3, frame.transport, frame.transport_bytes), frame.stored_icrc());
    EXPECT_EQ(parse_transport(frame), FrameVerdict::Ok);
}

/// Bits that a switch or router may change, which the ICRC must not see.
bool variant_bit(const RoceFrame& frame, std::size_t bit) {
    const std::size_t byte = bit / 8;
    const std::size_t in_byte = 7 - bit % 8;
    const auto transport = static_cast<std::size_t>(frame.transport - frame.l3);
    if (byte == transport + 4) return true;  // FECN, BECN, reserved
    if (frame.encapsulation != Encapsulation::V1 && (byte == transport - 2 || byte == transport - 1)) return true;
    if (frame.encapsulation == Encapsulation::V2Ipv4) return byte == 1 || byte == 8 || byte == 10 || byte == 11;
    return (byte == 0 && in_byte < 4) || (byte >= 1 && byte <= 3) || byte == 7;
}

TEST_P(IcrcVector, AnyFlippedBitIsNoticedUnlessItMayChangeOnTheWay) {
    const auto original = from_hex(GetParam().hex);
    RoceFrame frame;
    ASSERT_EQ(parse_envelope(original, frame), FrameVerdict::Ok);
    for (std::size_t bit = 0; bit < original.size() * 8; ++bit) {
        auto bytes = original;
        bytes[bit / 8] ^= static_cast<std::uint8_t>(0x80 >> bit % 8);
        EXPECT_EQ(good(bytes), variant_bit(frame, bit)) << "bit " << bit;
    }
}

INSTANTIATE_TEST_SUITE_P(All, IcrcVector, testing::ValuesIn(kVectors),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace vroce::nic::test
