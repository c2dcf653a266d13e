#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/random.hpp"
#include "common/fault/fault_injector.hpp"
#include "common/fault/fault_settings.hpp"
#include "common/packet/slab_pool.hpp"

namespace vroce {
namespace {

std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> out(1);
    for (const char c : text) {
        if (c == ' ')
            out.emplace_back();
        else
            out.back() += c;
    }
    return out;
}

struct Outcome {
    std::vector<std::uint32_t> order;
    int changed = 0;
};

Outcome run(const FaultSettings& settings, int count) {
    SlabPool pool(static_cast<std::size_t>(count) * 2 + 8);
    FaultInjector injector(pool);
    injector.set(settings);
    Outcome outcome;
    Instant now{};
    const auto take = [&] {
        while (Packet* packet = injector.pop(now)) {
            outcome.order.push_back(packet->meta.charge_bytes);
            if (std::any_of(packet->data, packet->data + packet->length, [](std::uint8_t b) { return b != 0; }))
                ++outcome.changed;
            release(packet);
        }
    };
    for (int i = 0; i < count; ++i) {
        Packet* packet = pool.alloc();
        packet->resize(200);
        std::fill_n(packet->data, 200, std::uint8_t{0});
        packet->meta.charge_bytes = static_cast<std::uint32_t>(i);
        injector.push(now, packet);
        take();
        now += microseconds(1);
    }
    now += seconds(20);
    take();
    EXPECT_EQ(pool.in_use(), 0u);
    return outcome;
}

TEST(FaultInjector, DropsTheShareThatWasAskedFor) {
    FaultSettings settings;
    settings.drop = 0.1;
    settings.seed = 7;
    const auto kept = run(settings, 10'000).order.size();
    EXPECT_NEAR(static_cast<double>(kept), 9'000, 150);
}

TEST(FaultInjector, IsTheSameForTheSameSeedAndAnotherForAnother) {
    FaultSettings settings;
    settings.drop = 0.3;
    settings.reorder = 0.2;
    settings.seed = 1;
    const auto once = run(settings, 500).order;
    EXPECT_EQ(run(settings, 500).order, once);
    settings.seed = 2;
    EXPECT_NE(run(settings, 500).order, once);
}

TEST(FaultInjector, CorruptionFlipsBitsBehindTheEthernetHeader) {
    FaultSettings settings;
    settings.corrupt = 1;
    EXPECT_EQ(run(settings, 100).changed, 100);
}

TEST(FaultInjector, DuplicatesArriveTwice) {
    FaultSettings settings;
    settings.duplicate = 1;
    EXPECT_EQ(run(settings, 10).order,
              (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9}));
}

TEST(FaultInjector, ReorderingLosesNothing) {
    FaultSettings settings;
    settings.reorder = 0.3;
    auto order = run(settings, 1'000).order;
    EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
    std::sort(order.begin(), order.end());
    for (std::uint32_t i = 0; i < 1'000; ++i) ASSERT_EQ(order[i], i);
}

TEST(FaultInjector, WithoutADelayThreeOvertakeAReorderedOneHoweverSlowTheyCome) {
    SlabPool pool(8);
    FaultInjector injector(pool);
    FaultSettings settings;
    settings.reorder = 1;
    injector.set(settings);
    const auto send = [&](std::uint32_t length) {
        Packet* packet = pool.alloc();
        packet->resize(length);
        injector.push(Instant{}, packet);
    };
    const auto next = [&](Instant now) {
        Packet* packet = injector.pop(now);
        if (packet == nullptr) return std::uint32_t{0};
        const std::uint32_t length = packet->length;
        release(packet);
        return length;
    };
    send(100);
    injector.set({});
    EXPECT_TRUE(injector.active()) << "one is held";
    EXPECT_EQ(next(Instant{}), 0u);
    for (const std::uint32_t length : {101u, 102u, 103u}) {
        send(length);
        EXPECT_EQ(next(Instant{}), length);
    }
    EXPECT_EQ(injector.next_deadline(), Instant{}) << "three have passed: it is due";
    EXPECT_EQ(next(Instant{}), 100u);
    EXPECT_FALSE(injector.active());
    EXPECT_EQ(injector.next_deadline(), kNever);
}

TEST(FaultInjector, AReorderedPacketThatNobodyOvertakesLeavesByItself) {
    SlabPool pool(1);
    FaultInjector injector(pool);
    FaultSettings settings;
    settings.reorder = 1;
    injector.set(settings);
    injector.push(Instant{}, pool.alloc());
    const Instant due = injector.next_deadline();
    ASSERT_NE(due, kNever);
    EXPECT_LE(due, Instant{} + milliseconds(1));
    EXPECT_EQ(injector.pop(due - picoseconds(1)), nullptr);
    Packet* packet = injector.pop(due);
    ASSERT_NE(packet, nullptr);
    release(packet);
    EXPECT_EQ(injector.counters()[FaultEvent::Reordered], 1u);
}

TEST(FaultInjector, WithADelayAReorderedPacketOvertakesTheHeldOnes) {
    SlabPool pool(8);
    FaultInjector injector(pool);
    FaultSettings settings;
    settings.delay = milliseconds(5);
    injector.set(settings);
    for (std::uint32_t i = 0; i < 3; ++i) {
        Packet* packet = pool.alloc();
        packet->resize(100 + i);
        if (i == 2) {
            settings.reorder = 1;
            injector.set(settings);
        }
        injector.push(Instant{} + microseconds(i), packet);
    }
    std::vector<std::uint32_t> order;
    for (const Instant now : {Instant{} + microseconds(2), Instant{} + milliseconds(6)})
        while (Packet* packet = injector.pop(now)) {
            order.push_back(packet->length);
            release(packet);
        }
    EXPECT_EQ(order, (std::vector<std::uint32_t>{102, 100, 101}));
    EXPECT_EQ(injector.counters()[FaultEvent::Delayed], 2u);
}

TEST(FaultInjector, HoldsNoMoreThanItsBoundAndGivesBackWhatItHolds) {
    SlabPool pool(FaultInjector::kHeldMax + 1, 64);
    {
        FaultInjector injector(pool);
        FaultSettings settings;
        settings.delay = seconds(1);
        injector.set(settings);
        for (std::size_t i = 0; i <= FaultInjector::kHeldMax; ++i) injector.push(Instant{}, pool.alloc());
        EXPECT_EQ(injector.counters()[FaultEvent::HeldFull], 1u);
        EXPECT_EQ(pool.in_use(), FaultInjector::kHeldMax);
        settings.delay = {};
        settings.reorder = 1;
        injector.set(settings);
        injector.push(Instant{}, pool.alloc());
    }
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(FaultInjector, KeepsHeldPacketsInTheOrderOfTheirTimesWhenTheDelayChanges) {
    SlabPool pool(64);
    FaultInjector injector(pool);
    Random random(4);
    std::vector<std::int64_t> due;
    for (std::uint32_t i = 0; i < 50; ++i) {
        FaultSettings settings;
        settings.delay = microseconds(static_cast<std::int64_t>(1 + random.below(1'000)));
        injector.set(settings);
        injector.push(Instant{}, pool.alloc());
    }
    while (Packet* packet = injector.pop(Instant{} + seconds(1))) {
        due.push_back(packet->meta.time.ps);
        release(packet);
    }
    EXPECT_EQ(due.size(), 50u);
    EXPECT_TRUE(std::is_sorted(due.begin(), due.end()));
}

TEST(FaultEvents, HaveALabelEach) {
    CounterSet<FaultEvent> counters;
    counters.add(FaultEvent::HeldFull, 3);
    std::vector<std::string> labels;
    counters.for_each([&](std::string_view label, std::uint64_t value) {
        EXPECT_FALSE(label.empty());
        if (value == 3) labels.emplace_back(label);
    });
    EXPECT_EQ(labels, std::vector<std::string>{"held_full"});
    EXPECT_EQ(counters.total(), 3u);
}

TEST(FaultInjector, DelaysExactly) {
    SlabPool pool(2);
    FaultInjector injector(pool);
    FaultSettings settings;
    settings.delay = microseconds(50);
    injector.set(settings);
    injector.push(Instant{} + microseconds(3), pool.alloc());
    EXPECT_EQ(injector.next_deadline(), Instant{} + microseconds(53));
    EXPECT_EQ(injector.pop(Instant{} + microseconds(53) - picoseconds(1)), nullptr);
    Packet* packet = injector.pop(Instant{} + microseconds(53));
    ASSERT_NE(packet, nullptr);
    release(packet);
}

TEST(FaultWords, UnderstandsWhatTheManualSays) {
    const auto request = parse_fault_words(
        words("drop 0.01 corrupt 0.001 reorder 0.01 duplicate 0.01 delay 50us seed 7 direction both"));
    ASSERT_TRUE(static_cast<bool>(request));
    EXPECT_DOUBLE_EQ(request->settings.drop, 0.01);
    EXPECT_DOUBLE_EQ(request->settings.corrupt, 0.001);
    EXPECT_EQ(request->settings.delay, microseconds(50));
    EXPECT_EQ(request->settings.seed, 7u);
    EXPECT_EQ(request->direction, FaultDirection::Both);
}

TEST(FaultWords, JsonSaysTheSame) {
    const auto request = parse_fault_words(words("drop 0.25 delay 3ms seed 9 direction rx"));
    ASSERT_TRUE(static_cast<bool>(request));
    const auto back = fault_from_json(fault_to_json(*request));
    ASSERT_TRUE(static_cast<bool>(back)) << back.error();
    EXPECT_DOUBLE_EQ(back->settings.drop, 0.25);
    EXPECT_EQ(back->settings.delay, milliseconds(3));
    EXPECT_EQ(back->settings.seed, 9u);
    EXPECT_EQ(back->direction, FaultDirection::Rx);
}

TEST(FaultWords, RefusesWithWhatIsAllowed) {
    const auto error = [](const std::string& text) {
        const auto request = parse_fault_words(words(text));
        return request ? std::string("accepted") : request.error();
    };
    EXPECT_EQ(error("drop 1.5"), "drop '1.5' is not a probability from 0 to 1");
    EXPECT_EQ(error("drop nan"), "drop 'nan' is not a probability from 0 to 1");
    EXPECT_EQ(error("drop"), "'drop' needs a value");
    EXPECT_EQ(error("delay 50"), "delay '50' is not a time such as 50us, 5ms or 1s");
    EXPECT_EQ(error("delay 11s"), "delay '11s' is over 10s");
    EXPECT_EQ(error("direction up"), "direction 'up' is not tx, rx or both");
    EXPECT_NE(error("lose 1").find("allowed: drop, corrupt"), std::string::npos);
}

TEST(FaultWords, RefusesJsonOfTheWrongKind) {
    for (const char* text : {R"({"drop": "much"})", R"({"drop": -0.1})", R"({"delay_ns": -1})", R"({"seed": 1.5})",
                             R"({"direction": 3})", R"({"colour": 1})", R"([1])"})
        EXPECT_FALSE(static_cast<bool>(fault_from_json(nlohmann::json::parse(text)))) << text;
}

}  // namespace
}  // namespace vroce
