// The transport's small parts by themselves: containers, tables, arithmetic.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "nic/transport/deadline_heap.hpp"
#include "nic/transport/hook_list.hpp"
#include "nic/transport/port_window.hpp"
#include "nic/transport/qp.hpp"
#include "nic/transport/read_jobs.hpp"
#include "nic/transport/request_checks.hpp"
#include "nic/transport/retry_state.hpp"
#include "nic/transport/segmentation.hpp"
#include "nic/transport/slab.hpp"
#include "nic/transport/verdict.hpp"
#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

TEST(QueuePair, IdleOneTakesAtMost2KiB) {  // design D14; work requests and READ jobs are the engine's, on demand
    RecordProperty("sizeof_qp", static_cast<int>(sizeof(Qp)));
    std::printf("an idle queue pair takes %zu bytes\n", sizeof(Qp));
    EXPECT_LE(sizeof(Qp), 2'048U);
}

TEST(Segmentation, CoversEachMessageOnceAndInOrder) {
    for (const std::uint32_t mtu : {256U, 512U, 1'024U, 2'048U, 4'096U})
        for (const std::uint64_t length :
             {0ULL, 1ULL, 255ULL, 256ULL, 257ULL, 4'096ULL, 4'097ULL, 1'000'000ULL, 1ULL << 31}) {
            const std::uint32_t count = packet_count(length, mtu);
            EXPECT_EQ(payload_bytes(length, mtu, 0, count), length);
            EXPECT_EQ(payload_bytes(length, mtu, count), 0U);
            EXPECT_EQ(position(0, count), count == 1 ? Position::Only : Position::First);
            EXPECT_EQ(position(count - 1, count), count == 1 ? Position::Only : Position::Last);
            if (count > 1) {
                EXPECT_EQ(payload_bytes(length, mtu, 0), mtu);
                EXPECT_GE(payload_bytes(length, mtu, count - 1), 1U);
            }
            EXPECT_LE(count, 1U << 23);
        }
}

TEST(Segmentation, WeighsHeadersToo) {
    EXPECT_EQ(window_cost(0, 1'024, 0), 64U);
    EXPECT_EQ(window_cost(1'500, 1'024, 0, 2), 1'500U + 128);
}

TEST(Slab, GivesBackWhatItTook) {
    Slab<ReadJob> slab;
    std::vector<ReadJob*> taken;
    for (int i = 0; i < 1'000; ++i) taken.push_back(slab.take());
    taken[3]->length = 7;
    for (ReadJob* job : taken) slab.put(job);
    EXPECT_EQ(slab.in_use(), 0U);
    EXPECT_EQ(slab.take()->length, 0U) << "each comes fresh";
}

struct Timed {
    DeadlineHeap<Timed>::Entry entry{*this};
};

TEST(DeadlineHeap, AgreesWithASortedMap) {
    std::mt19937 random(3);
    DeadlineHeap<Timed> heap;
    std::vector<Timed> items(200);
    std::map<Timed*, Instant> model;
    for (int i = 0; i < 20'000; ++i) {
        Timed& item = items[random() % items.size()];
        const Instant at = random() % 4 == 0 ? kNever : Instant{static_cast<std::int64_t>(random() % 1'000)};
        heap.set(item.entry, at);
        model[&item] = at;
        Instant earliest = kNever;
        for (const auto& [key, value] : model) earliest = std::min(earliest, value);
        ASSERT_EQ(heap.next(), earliest);
        ASSERT_TRUE(earliest == kNever || model[&heap.earliest()] == earliest);
    }
}

TEST(HookList, KeepsOrderAndForgetsTheUnlinked) {
    struct Item {
        explicit Item(int n) : number(n) { hook.owner = this; }
        Hook hook;
        int number;
    };
    HookList<Item> list;
    Item one(1), two(2), three(3);
    list.push_back(one.hook);
    list.push_back(two.hook);
    list.push_front(three.hook);
    two.hook.unlink();
    two.hook.unlink();
    EXPECT_EQ(list.pop_front()->number, 3);
    EXPECT_EQ(list.pop_front()->number, 1);
    EXPECT_EQ(list.pop_front(), nullptr);
    EXPECT_FALSE(one.hook.linked());
}

TEST(PortWindow, ChargesExpireByAgeOfTheirProgress) {
    PortWindow window(1'000);
    PortWindow::Charge a, b;
    const Instant start{0};
    window.take(start, a, 600);
    window.take(start + milliseconds(1), b, 400);
    EXPECT_FALSE(window.fits(0, 1));
    window.give_back(start + milliseconds(1), a, 100);
    EXPECT_TRUE(window.fits(0, 100));
    EXPECT_FALSE(window.fits(50, 51));
    EXPECT_EQ(window.expire(start + milliseconds(2)), 0U);
    EXPECT_EQ(window.next_expiry(), start + milliseconds(3));
    EXPECT_EQ(window.expire(start + milliseconds(3)), 2U);
    EXPECT_EQ(window.in_flight_bytes(), 0U);
    window.give_back(start + milliseconds(4), a, 500);  // late: it was given back already
    EXPECT_EQ(window.in_flight_bytes(), 0U);
    EXPECT_EQ(window.next_expiry(), kNever);
    EXPECT_TRUE(window.fits(0, 5'000)) << "one packet always fits into an empty window";
}

TEST(RetryState, WaitsForOneThingAtATime) {
    QpAttributes attributes;
    attributes.timeout = 1;
    attributes.retry_count = 1;
    attributes.rnr_retry = 1;
    RetryState retry;
    retry.reset(attributes);
    retry.packet_sent(Instant{0}, attributes);
    EXPECT_EQ(retry.deadline(), Instant{8'192'000});
    retry.wait_rnr(Instant{5});
    EXPECT_EQ(retry.waiting(), RetryState::Waiting::RnrWait);
    EXPECT_EQ(retry.deadline(), Instant{5});
    EXPECT_TRUE(retry.take_retry());
    EXPECT_FALSE(retry.take_retry());
    EXPECT_TRUE(retry.take_rnr_retry());
    EXPECT_FALSE(retry.take_rnr_retry());
    retry.progress(Instant{7}, attributes, false);
    EXPECT_EQ(retry.deadline(), kNever);
    EXPECT_TRUE(retry.take_retry());
}

TEST(RetryState, RnrSevenIsForEverAndRetrySevenIsNot) {
    QpAttributes attributes;
    attributes.retry_count = attributes.rnr_retry = 7;
    RetryState retry;
    retry.reset(attributes);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(retry.take_rnr_retry());
    for (int i = 0; i < 7; ++i) EXPECT_TRUE(retry.take_retry());
    EXPECT_FALSE(retry.take_retry());
}

TEST(Verdict, EachHasANakACounterOfItsOwnAndAReason) {
    std::map<EngineCounter, int> counters;
    for (auto v = static_cast<int>(Verdict::Execute) + 1; v <= static_cast<int>(Verdict::Unanswerable); ++v) {
        const Consequence& row = consequence(static_cast<Verdict>(v));
        EXPECT_EQ(++counters[row.counter], 1) << label(row.counter);
        EXPECT_EQ(row.fatal, row.syndrome >= 0x61) << v;
        EXPECT_FALSE(row.event && row.completion) << "told once: by a completion or by an event";
    }
}

TEST(Counters, LabelsAreUniqueAndPlain) {
    std::map<std::string_view, int> seen;
    for (const std::string_view text : kEngineCounterLabels) {
        EXPECT_EQ(++seen[text], 1) << text;
        EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << text;
    }
}

class Jobs : public testing::Test {
protected:
    SlabPool pool{1};
    EngineCore core{{}, pool};
    TestEnv env;
    QpContext context{core, env, 2, {}};
    ReadJobs jobs{context};

    void SetUp() override { context.attributes.max_dest_rd_atomic = 2; }
    static ReadJob job(std::uint32_t psn, std::uint32_t packets) { return {.packets = packets, .psn = Psn(psn)}; }
    std::vector<std::uint32_t> order() {
        std::vector<std::uint32_t> psns;
        for (const ReadJob* j = jobs.first(); j != nullptr; j = j->next) psns.push_back(j->psn.value());
        return psns;
    }
};

TEST_F(Jobs, ReplaysStandAtTheirPlace) {
    jobs.add(job(20, 2));
    jobs.add(job(22, 2));
    EXPECT_EQ(jobs.replay(job(10, 1)), ReadJobs::Replay::Added);
    EXPECT_EQ(jobs.replay(job(12, 1)), ReadJobs::Replay::Added);
    EXPECT_EQ(jobs.replay(job(11, 1)), ReadJobs::Replay::Full);
    EXPECT_EQ(order(), (std::vector<std::uint32_t>{10, 12, 20, 22}));
    EXPECT_EQ(jobs.outstanding(), 2U);
    jobs.finish_first();
    EXPECT_EQ(jobs.outstanding(), 2U) << "replays are not the peer's READ resources";
}

TEST_F(Jobs, ReplayOfAWaitingOneRestartsOrIsCovered) {
    jobs.add(job(20, 4));
    jobs.first()->sent = 2;
    EXPECT_EQ(jobs.replay(job(23, 1)), ReadJobs::Replay::Covered);
    EXPECT_EQ(jobs.replay(job(21, 3)), ReadJobs::Replay::Restarted);
    EXPECT_EQ(jobs.first()->psn.value(), 21U);
    EXPECT_EQ(jobs.first()->sent, 0U);
    EXPECT_EQ(core.read_jobs.in_use(), 1U);
}

TEST_F(Jobs, OrderHoldsAcrossTheWrap) {
    jobs.add(job(0xFFFFFF, 2));
    jobs.add(job(1, 1));
    EXPECT_EQ(jobs.replay(job(0xFFFFFE, 1)), ReadJobs::Replay::Added);
    EXPECT_EQ(order(), (std::vector<std::uint32_t>{0xFFFFFE, 0xFFFFFF, 1}));
}

}  // namespace
}  // namespace vroce::nic::test
