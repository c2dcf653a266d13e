#include "pfc/headroom.hpp"

#include <gtest/gtest.h>

namespace vroce {
namespace {

TEST(Headroom, ResponseOfThePeerIsAsInTheTable) {
    EXPECT_EQ(response_quanta(1'000'000'000), 2u);
    EXPECT_EQ(response_quanta(10'000'000'000), 67u);
    EXPECT_EQ(response_quanta(25'000'000'000), 80u);
    EXPECT_EQ(response_quanta(40'000'000'000), 118u);
    EXPECT_EQ(response_quanta(50'000'000'000), 147u);
    EXPECT_EQ(response_quanta(100'000'000'000), 394u);
    EXPECT_EQ(response_quanta(200'000'000'000), 453u);
    EXPECT_EQ(response_quanta(400'000'000'000), 905u);
    EXPECT_EQ(response_quanta(800'000'000'000), 905u);
    EXPECT_EQ(response_quanta(2'500'000'000), 67u);
}

TEST(Headroom, EachTermStandsAlone) {
    const Headroom room = headroom({.speed_bps = 10'000'000'000,
                                    .mtu_bytes = 1'500,
                                    .cable_meters = 5,
                                    .extra_delay = microseconds(50),
                                    .ring_slots = 256,
                                    .peer_burst_frames = 32});
    EXPECT_EQ(room.own_frame_bytes, 1'522u);
    EXPECT_EQ(room.peer_frame_bytes, 1'522u);
    EXPECT_EQ(room.pause_frame_bytes, 84u);
    EXPECT_EQ(room.cable_bytes, 63u) << "5 m x 2 x 5 ns at 1.25 bytes a ns, rounded up";
    EXPECT_EQ(room.response_bytes, 4'288u);
    EXPECT_EQ(room.extra_delay_bytes, 125'000u);
    EXPECT_EQ(room.in_flight_bytes, 288u * 1'522);
    EXPECT_EQ(room.total_bytes(), 1'522u * 2 + 84 + 63 + 4'288 + 125'000 + 288 * 1'522);
}

TEST(Headroom, IsWhatSonicComputesButForHeadersThePauseFrameAndTheSpeedOfLight) {
    struct Case {
        std::uint64_t gbps;
        std::uint32_t meters;
        std::uint32_t mtu_bytes;
        std::uint64_t sonic_bytes;
    };
    for (const auto& [gbps, meters, mtu_bytes, sonic_bytes] :
         {Case{10, 5, 1'500, 7'351}, Case{10, 5, 9'100, 22'551}, Case{25, 40, 1'500, 9'382},
          Case{100, 5, 1'500, 28'847}, Case{100, 300, 9'100, 81'294}, Case{400, 300, 9'100, 227'635}}) {
        const Headroom room =
            headroom({.speed_bps = gbps * 1'000'000'000, .mtu_bytes = mtu_bytes, .cable_meters = meters});
        const std::uint64_t ours = room.total_bytes() - kPauseOnLineBytes - 2 * kFrameBeyondMtuBytes;
        EXPECT_NEAR(static_cast<double>(ours), static_cast<double>(sonic_bytes),
                    static_cast<double>(room.cable_bytes) / 50 + 1)
            << gbps << "G " << meters << " m";
    }
}

TEST(Headroom, RaisesWhatIsConfiguredUnlessExact) {
    const Headroom needed = headroom({.speed_bps = 10'000'000'000});
    EXPECT_EQ(effective_xoff_bytes(1'000, needed, false), needed.total_bytes());
    EXPECT_EQ(effective_xoff_bytes(1'000, needed, true), 1'000u);
    EXPECT_EQ(effective_xoff_bytes(1'000'000, needed, false), 1'000'000u);
}

TEST(Headroom, HoldsAtTheEndsOfItsRange) {
    EXPECT_EQ(bytes_in(Duration{}, 400'000'000'000), 0u);
    EXPECT_EQ(bytes_in(picoseconds(1), 400'000'000'000), 1u);
    EXPECT_EQ(bytes_in(seconds(10), 800'000'000'000), 1'000'000'000'000u);
}

}  // namespace
}  // namespace vroce
