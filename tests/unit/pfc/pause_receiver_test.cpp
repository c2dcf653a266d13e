#include "pfc/pause_receiver.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string_view>

#include "pfc/quanta.hpp"

namespace vroce {
namespace {

constexpr Instant kStart = Instant{} + seconds(1);
constexpr std::uint64_t k10G = 10'000'000'000;
constexpr Duration kQuantum10G = picoseconds(51'200);

PauseFrame pfc(std::uint8_t enabled, std::uint16_t quanta) {
    PauseFrame frame{.priority_based = true, .enabled = enabled};
    for (unsigned p = 0; p < 8; ++p)
        if ((enabled >> p & 1) != 0) frame.quanta[p] = quanta;
    return frame;
}

PauseFrame link_pause(std::uint16_t quanta) {
    PauseFrame frame;
    frame.quanta[0] = quanta;
    return frame;
}

PauseReceiver receiver(std::uint8_t priorities = 0xFF, std::uint64_t speed_bps = k10G) {
    return PauseReceiver({speed_bps, PauseMode::kPriority, priorities});
}

TEST(PauseReceiver, APauseEndsToThePicosecondAtEverySpeed) {
    struct Case {
        std::uint64_t speed_bps;
        std::int64_t quantum_ps;
    };
    for (const auto& [speed_bps, quantum_ps] :
         {Case{1'000'000'000, 512'000}, Case{k10G, 51'200}, Case{25'000'000'000, 20'480}, Case{100'000'000'000, 5'120},
          Case{400'000'000'000, 1'280}, Case{800'000'000'000, 640}}) {
        for (const std::uint16_t quanta : std::initializer_list<std::uint16_t>{1, 2, 1'000, 65'535}) {
            PauseReceiver rx = receiver(0xFF, speed_bps);
            rx.on_frame(kStart, pfc(1u << 3, quanta));
            const Instant end = kStart + picoseconds(quantum_ps * quanta);
            EXPECT_EQ(rx.next_deadline(kStart), end);
            EXPECT_EQ(rx.paused_mask(kStart), 1u << 3);
            EXPECT_EQ(rx.paused_mask(end - picoseconds(1)), 1u << 3) << speed_bps << ' ' << quanta;
            EXPECT_EQ(rx.paused_mask(end), 0) << speed_bps << ' ' << quanta;
            EXPECT_EQ(rx.next_deadline(end), kNever);
        }
    }
}

TEST(PauseReceiver, ANewerFrameReplacesTheTimerWhetherLongerOrShorter) {
    PauseReceiver rx = receiver();
    rx.on_frame(kStart, pfc(0b11, 1'000));
    rx.on_frame(kStart + kQuantum10G, pfc(0b01, 2'000));
    rx.on_frame(kStart + kQuantum10G, pfc(0b10, 5));
    EXPECT_EQ(rx.paused_mask(kStart + kQuantum10G * 6), 0b01);
    EXPECT_EQ(rx.paused_mask(kStart + kQuantum10G * 2'000), 0b01);
    EXPECT_EQ(rx.paused_mask(kStart + kQuantum10G * 2'001), 0);
}

TEST(PauseReceiver, ZeroQuantaResumeAtOnceAndOnlyWhatTheyName) {
    PauseReceiver rx = receiver();
    rx.on_frame(kStart, pfc(0b1100, 1'000));
    rx.on_frame(kStart + kQuantum10G * 10, pfc(0b0100, 0));
    EXPECT_EQ(rx.paused_mask(kStart + kQuantum10G * 10), 0b1000);
    EXPECT_EQ(rx.paused_time(kStart + kQuantum10G * 50, 2), kQuantum10G * 10);
    EXPECT_EQ(rx.heard(2).pause_frames, 1u);
    EXPECT_EQ(rx.heard(2).resume_frames, 1u);
    EXPECT_EQ(rx.heard(3).resume_frames, 0u);
}

TEST(PauseReceiver, AnEmptyVectorDoesNothing) {
    PauseReceiver rx = receiver();
    rx.on_frame(kStart, pfc(0b1, 1'000));
    PauseFrame empty{.priority_based = true};
    empty.quanta.fill(7);
    rx.on_frame(kStart, empty);
    EXPECT_EQ(rx.paused_mask(kStart + kQuantum10G * 999), 0b1);
    EXPECT_EQ(rx.ignored()[IgnoredPause::EmptyVector], 1u);
}

TEST(PauseReceiver, TheOtherKindIsCountedAndIgnored) {
    PauseReceiver priority = receiver();
    priority.on_frame(kStart, link_pause(1'000));
    EXPECT_EQ(priority.paused_mask(kStart), 0);
    EXPECT_EQ(priority.ignored()[IgnoredPause::OtherKind], 1u);
    EXPECT_EQ(priority.link_heard().pause_frames, 1u);
    for (unsigned p = 0; p < 8; ++p) EXPECT_EQ(priority.heard(p).pause_frames, 0u) << "no priority's count rises";

    PauseReceiver link({k10G, PauseMode::kLink, 0xFF});
    link.on_frame(kStart, pfc(0xFF, 1'000));
    EXPECT_EQ(link.paused_mask(kStart), 0);
    EXPECT_EQ(link.ignored()[IgnoredPause::OtherKind], 1u);

    PauseReceiver off({k10G, PauseMode::kOff, 0xFF});
    off.on_frame(kStart, pfc(0xFF, 1'000));
    off.on_frame(kStart, link_pause(1'000));
    EXPECT_EQ(off.paused_mask(kStart), 0);
    EXPECT_EQ(off.ignored()[IgnoredPause::ModeOff], 2u);
}

TEST(PauseReceiver, LinkPauseStopsAllPriorities) {
    PauseReceiver rx({k10G, PauseMode::kLink, 0});
    rx.on_frame(kStart, link_pause(10));
    EXPECT_EQ(rx.paused_mask(kStart + kQuantum10G * 10 - picoseconds(1)), 0xFF);
    EXPECT_EQ(rx.paused_mask(kStart + kQuantum10G * 10), 0);
    EXPECT_EQ(rx.link_paused_time(kStart + seconds(1)), kQuantum10G * 10);
    EXPECT_EQ(rx.paused_time(kStart + seconds(1), 0), Duration{});
    rx.on_frame(kStart + seconds(1), link_pause(10));
    rx.on_frame(kStart + seconds(1), link_pause(0));
    EXPECT_EQ(rx.paused_mask(kStart + seconds(1)), 0);
    EXPECT_EQ(rx.link_heard().resume_frames, 1u);
}

TEST(PauseReceiver, ObeysOnlyItsPrioritiesAndCountsAll) {
    PauseReceiver rx = receiver(0b0001'1000);
    rx.on_frame(kStart, pfc(0xFF, 100));
    EXPECT_EQ(rx.paused_mask(kStart), 0b0001'1000);
    EXPECT_EQ(rx.ignored()[IgnoredPause::NotObeyed], 1u);
    EXPECT_EQ(rx.heard(0).pause_frames, 1u);
    EXPECT_EQ(rx.paused_time(kStart + seconds(1), 0), Duration{});
}

TEST(PauseReceiver, PausedTimeIsLiveAndCountsARefreshOnce) {
    PauseReceiver rx = receiver();
    rx.on_frame(kStart, pfc(0b1, 100));
    rx.on_frame(kStart + kQuantum10G * 50, pfc(0b1, 100));
    EXPECT_EQ(rx.paused_time(kStart + kQuantum10G * 60, 0), kQuantum10G * 60);
    EXPECT_EQ(rx.paused_time(kStart + kQuantum10G * 1'000, 0), kQuantum10G * 150);
    rx.on_frame(kStart + kQuantum10G * 1'000, pfc(0b1, 10));
    EXPECT_EQ(rx.paused_time(kStart + kQuantum10G * 2'000, 0), kQuantum10G * 160);
}

TEST(PauseReceiver, NextDeadlineIsTheEarliestEnd) {
    PauseReceiver rx = receiver();
    rx.on_frame(kStart, pfc(0b001, 300));
    rx.on_frame(kStart, pfc(0b010, 100));
    rx.on_frame(kStart, pfc(0b100, 200));
    EXPECT_EQ(rx.next_deadline(kStart), kStart + kQuantum10G * 100);
    EXPECT_EQ(rx.next_deadline(kStart + kQuantum10G * 100), kStart + kQuantum10G * 200);
    EXPECT_EQ(rx.next_deadline(kStart + kQuantum10G * 200), kStart + kQuantum10G * 300);
    EXPECT_EQ(rx.next_deadline(kStart + kQuantum10G * 300), kNever);
}

TEST(PauseReceiver, AStormPausesWithoutFramesAndIsCountedApart) {
    PauseReceiver rx = receiver(0b1000);
    rx.set_storm(kStart, 0b1001);
    EXPECT_EQ(rx.paused_mask(kStart + seconds(10)), 0b1000) << "what is not obeyed is not stormed";
    EXPECT_EQ(rx.next_deadline(kStart), kNever);
    rx.on_frame(kStart + seconds(1), pfc(0b1000, 0));
    EXPECT_EQ(rx.paused_mask(kStart + seconds(1)), 0b1000) << "without a gap";
    EXPECT_EQ(rx.storm_time(kStart + seconds(10), 3), seconds(10));
    rx.set_storm(kStart + seconds(20), 0);
    EXPECT_EQ(rx.paused_mask(kStart + seconds(20)), 0);
    EXPECT_EQ(rx.storm_time(kStart + seconds(30), 3), seconds(20));
    EXPECT_EQ(rx.storm_time(kStart + seconds(30), 0), Duration{});
    EXPECT_EQ(rx.paused_time(kStart + seconds(30), 3), Duration{});
    EXPECT_EQ(rx.heard(3).pause_frames, 0u);

    PauseReceiver link({k10G, PauseMode::kLink, 0});
    link.set_storm(kStart, 1);
    EXPECT_EQ(link.paused_mask(kStart), 0xFF);
}

TEST(PauseReceiver, ConfigureEndsWhatIsNoLongerObeyedAndKeepsTheRest) {
    PauseReceiver rx = receiver();
    rx.on_frame(kStart, pfc(0b11, 1'000));
    rx.set_storm(kStart, 0b10);
    rx.configure(kStart + kQuantum10G * 10, {k10G, PauseMode::kPriority, 0b01});
    EXPECT_EQ(rx.paused_mask(kStart + kQuantum10G * 10), 0b01);
    EXPECT_EQ(rx.paused_time(kStart + seconds(1), 1), kQuantum10G * 10);
    EXPECT_EQ(rx.storm_time(kStart + seconds(1), 1), kQuantum10G * 10);
    rx.reset(kStart + kQuantum10G * 20);
    EXPECT_EQ(rx.paused_mask(kStart + kQuantum10G * 20), 0);
    EXPECT_EQ(rx.paused_time(kStart + seconds(1), 0), kQuantum10G * 20);
}

TEST(PauseReceiver, EachReasonHasItsLabel) {
    std::set<std::string_view> labels;
    for (std::size_t i = 0; i < CounterSet<IgnoredPause>::kCount; ++i)
        labels.insert(label(static_cast<IgnoredPause>(i)));
    EXPECT_EQ(labels.size(), CounterSet<IgnoredPause>::kCount);
}

}  // namespace
}  // namespace vroce
