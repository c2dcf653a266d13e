#include "nic/wire/headers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace vroce::nic {
namespace {

TEST(Headers, BthLiesWhereTheStandardSaysSo) {
    const Bth bth{.opcode = 0x0A,
                  .solicited = true,
                  .migration = true,
                  .pad = 3,
                  .version = 5,
                  .pkey = 0x8001,
                  .fecn = true,
                  .becn = true,
                  .destination_qpn = 0x123456,
                  .ack_request = true,
                  .psn = Psn(0xABCDEF)};
    std::array<std::uint8_t, 12> wire{};
    bth.store(wire.data());
    EXPECT_EQ(wire,
              (std::array<std::uint8_t, 12>{0x0A, 0xF5, 0x80, 0x01, 0xC0, 0x12, 0x34, 0x56, 0x80, 0xAB, 0xCD, 0xEF}));
    EXPECT_EQ(Bth::load(wire.data()), bth);
}

TEST(Headers, RethIsBigEndian) {
    std::array<std::uint8_t, 16> wire{};
    Reth{0x0102030405060708, 0x090A0B0C, 0x0D0E0F10}.store(wire.data());
    for (std::size_t i = 0; i < wire.size(); ++i) EXPECT_EQ(wire[i], i + 1);
}

TEST(Headers, ImmediatePassesUnchanged) {
    const std::array<std::uint8_t, 4> wire{1, 2, 3, 4};
    std::array<std::uint8_t, 4> again{};
    ImmDt::load(wire.data()).store(again.data());
    EXPECT_EQ(again, wire);
}

/// Whatever bits come in, a header that was loaded and stored loads the same again.
template <typename Header>
void round_trip(std::mt19937_64& random) {
    std::array<std::uint8_t, Header::kBytes> wire{};
    for (std::uint8_t& byte : wire) byte = static_cast<std::uint8_t>(random());
    const Header header = Header::load(wire.data());
    std::array<std::uint8_t, Header::kBytes> again{};
    header.store(again.data());
    EXPECT_EQ(Header::load(again.data()), header);
}

TEST(Headers, AllRoundTrip) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 1'000; ++i) {
        round_trip<Bth>(random);
        round_trip<Reth>(random);
        round_trip<AtomicEth>(random);
        round_trip<Aeth>(random);
        round_trip<Deth>(random);
        round_trip<ImmDt>(random);
        round_trip<Ieth>(random);
        round_trip<Xrceth>(random);
    }
}

}  // namespace
}  // namespace vroce::nic
