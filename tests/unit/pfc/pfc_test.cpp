#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/random.hpp"
#include "pfc/frame.hpp"
#include "pfc/quanta.hpp"

namespace vroce {
namespace {

constexpr std::array<std::uint8_t, 6> kMac{2, 0, 0, 0, 0, 9};

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string out;
    for (const std::uint8_t byte : bytes) {
        constexpr char kDigits[] = "0123456789abcdef";
        out += kDigits[byte >> 4];
        out += kDigits[byte & 15];
    }
    return out;
}

TEST(PauseFrame, PfcIsBuiltAsTheStandardDrawsIt) {
    PauseFrame pause;
    pause.priority_based = true;
    pause.enabled = 0b0000'1001;
    pause.quanta = {0xFFFF, 7, 0, 0x1234, 0, 0, 0, 0};
    EXPECT_EQ(hex(build_pause(pause, kMac)),
              "0180c2000001"
              "020000000009"
              "8808"
              "0101"
              "0009"
              "ffff"
              "0000"
              "0000"
              "1234"
              "0000000000000000" +
                  std::string(52, '0'));
}

TEST(PauseFrame, LinkPauseIsBuiltAsTheStandardDrawsIt) {
    PauseFrame pause;
    pause.quanta[0] = 0x0102;
    EXPECT_EQ(hex(build_pause(pause, kMac)),
              "0180c2000001"
              "020000000009"
              "8808"
              "0001"
              "0102" +
                  std::string(84, '0'));
}

TEST(PauseFrame, ParsesWhatItBuilds) {
    Random random(3);
    for (int i = 0; i < 1'000; ++i) {
        PauseFrame pause;
        pause.priority_based = true;
        pause.enabled = static_cast<std::uint8_t>(random.next_u64());
        for (std::size_t n = 0; n < 8; ++n)
            if ((pause.enabled >> n & 1) != 0) pause.quanta[n] = static_cast<std::uint16_t>(random.next_u64());
        const auto parsed = parse_pause(build_pause(pause, kMac));
        ASSERT_TRUE(parsed.has_value());
        EXPECT_TRUE(parsed->priority_based);
        EXPECT_EQ(parsed->enabled, pause.enabled);
        EXPECT_EQ(parsed->quanta, pause.quanta);
    }
}

TEST(PauseFrame, TimesOfClassesThatAreNotEnabledAreIgnored) {
    PauseFrame pause;
    pause.priority_based = true;
    pause.enabled = 0xFF;
    pause.quanta.fill(9);
    auto frame = build_pause(pause, kMac);
    frame[17] = 0x02;
    const auto parsed = parse_pause(frame);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->quanta, (std::array<std::uint16_t, 8>{0, 9, 0, 0, 0, 0, 0, 0}));
}

TEST(PauseFrame, OtherFramesAreNone) {
    auto frame = build_pause({true, 1, {1}}, kMac);
    EXPECT_TRUE(is_mac_control(frame));
    EXPECT_FALSE(parse_pause(std::span(frame).first(33)).has_value()) << "too short for eight times";
    frame[15] = 0x02;
    EXPECT_FALSE(parse_pause(frame).has_value()) << "another opcode";
    EXPECT_TRUE(is_mac_control(frame)) << "but still for the MAC alone";
    frame[12] = 0x08, frame[13] = 0x00;
    EXPECT_FALSE(is_mac_control(frame));
    EXPECT_FALSE(is_mac_control(std::span(frame).first(13)));
}

TEST(PauseFrame, IsForTheGroupOrTheStationItselfAndNobodyElse) {
    auto frame = build_pause({true, 1, {1}}, {2, 0, 0, 0, 0, 9});
    EXPECT_TRUE(is_pause_for(frame, kMac));
    std::copy(kMac.begin(), kMac.end(), frame.begin());
    EXPECT_TRUE(is_pause_for(frame, kMac));
    frame[5] ^= 1;
    EXPECT_FALSE(is_pause_for(frame, kMac));
    frame.fill(0xFF);
    EXPECT_FALSE(is_pause_for(frame, kMac));
}

TEST(Quanta, LastAsTheStandardSays) {
    EXPECT_EQ(quanta_to_duration(1, 100'000'000'000), picoseconds(5'120));
    EXPECT_EQ(quanta_to_duration(65'535, 10'000'000'000), picoseconds(3'355'392'000));
    EXPECT_EQ(quanta_to_duration(65'535, 1'000'000'000), picoseconds(33'553'920'000));
    EXPECT_EQ(quanta_to_duration(65'535, 400'000'000'000), picoseconds(83'884'800));
}

TEST(Quanta, EverySpeedOfTheTable) {
    struct Row {
        std::uint64_t speed_bps;
        std::int64_t quantum_ps;
        std::int64_t all_ns;  ///< 65,535 of them
    };
    for (const Row& row : {Row{1'000'000'000, 512'000, 33'553'920}, Row{10'000'000'000, 51'200, 3'355'392},
                           Row{25'000'000'000, 20'480, 1'342'156}, Row{40'000'000'000, 12'800, 838'848},
                           Row{50'000'000'000, 10'240, 671'078}, Row{100'000'000'000, 5'120, 335'539},
                           Row{200'000'000'000, 2'560, 167'769}, Row{400'000'000'000, 1'280, 83'884},
                           Row{800'000'000'000, 640, 41'942}}) {
        EXPECT_EQ(quanta_to_duration(1, row.speed_bps).ps, row.quantum_ps);
        EXPECT_EQ(quanta_to_duration(kQuantaMax, row.speed_bps).ps, row.quantum_ps * 65'535);
        EXPECT_EQ(quanta_to_duration(kQuantaMax, row.speed_bps).ps / 1'000, row.all_ns);
    }
}

TEST(Quanta, ThereAndBackAtOddSpeedsToo) {
    Random random(8);
    for (const std::uint64_t speed_bps :
         {100'000ull, 999'999ull, 2'500'000'000ull, 3'000'000'007ull, 100'000'000'000ull})
        for (int i = 0; i < 1'000; ++i) {
            const auto quanta = static_cast<std::uint16_t>(random.next_u64());
            const Duration time = quanta_to_duration(quanta, speed_bps);
            ASSERT_EQ(duration_to_quanta(time, speed_bps), quanta) << speed_bps;
            if (quanta != kQuantaMax) {
                ASSERT_EQ(duration_to_quanta(time + picoseconds(1), speed_bps), quanta + 1) << speed_bps;
            }
        }
}

TEST(Quanta, RoundUpAndStopAtTheLargest) {
    EXPECT_EQ(duration_to_quanta(picoseconds(5'121), 100'000'000'000), 2);
    EXPECT_EQ(duration_to_quanta(picoseconds(5'120), 100'000'000'000), 1);
    EXPECT_EQ(duration_to_quanta(picoseconds(0), 100'000'000'000), 0);
    EXPECT_EQ(duration_to_quanta(seconds(1), 100'000'000'000), kQuantaMax);
}

}  // namespace
}  // namespace vroce
