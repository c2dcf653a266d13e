#include "provider/src/event_pipe.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace vroce::provider {
namespace {

class EventPipeTest : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(pipe2(ends_, O_CLOEXEC), 0);
        fcntl(ends_[1], F_SETFL, O_NONBLOCK);
        pipe_.open(ends_[0], ends_[1]);
    }
    void TearDown() override {
        if (ends_[0] >= 0) close(ends_[0]);
    }
    void write_element(std::uint64_t element) { ASSERT_EQ(write(ends_[1], &element, sizeof element), 8); }
    /// What a reader would get now; empty when the pipe is.
    std::vector<std::uint64_t> read_all() {
        fcntl(ends_[0], F_SETFL, O_NONBLOCK);
        std::vector<std::uint64_t> elements;
        std::uint64_t element = 0;
        while (read(ends_[0], &element, sizeof element) == 8) elements.push_back(element);
        return elements;
    }
    int ends_[2] = {-1, -1};
    EventPipe pipe_{8};
};

TEST_F(EventPipeTest, WithdrawsOnlyItsElementAndKeepsTheOrderOfOthers) {
    for (std::uint64_t element : {1, 7, 2, 7, 7, 3}) write_element(element);
    EXPECT_EQ(pipe_.withdraw(7), 3u);
    EXPECT_EQ(read_all(), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(EventPipeTest, DoesNotBlockOnAnEmptyBlockingPipe) {
    EXPECT_EQ(pipe_.withdraw(7), 0u);
    EXPECT_EQ(fcntl(ends_[0], F_GETFL) & O_NONBLOCK, 0) << "the application's descriptor was changed";
}

TEST_F(EventPipeTest, WithdrawsFromAFullPipe) {
    std::uint64_t records = 0;
    for (std::uint64_t element = records % 2; write(ends_[1], &element, 8) == 8; element = ++records % 2) {
    }
    ASSERT_GE(records, 8000u);
    EXPECT_EQ(pipe_.withdraw(1), records / 2);
    EXPECT_EQ(read_all().size(), records - records / 2);
}

TEST_F(EventPipeTest, KnowsRecordsOfSixteenBytes) {
    EventPipe async(16);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    async.open(ends[0], ends[1]);
    const std::uint64_t records[][2] = {{5, 6}, {6, 5}, {5, 5}};
    ASSERT_EQ(write(ends[1], records, sizeof records), static_cast<ssize_t>(sizeof records));
    EXPECT_EQ(async.withdraw(5), 2u);
    std::uint64_t left[2];
    ASSERT_EQ(read(ends[0], left, sizeof left), 16);
    EXPECT_EQ(left[0], 6u);
    close(ends[0]);
}

TEST_F(EventPipeTest, HoldsWhatDoesNotFitAndLosesNothing) {
    while (write(ends_[1], "........", 8) == 8) {
    }
    const std::uint64_t late = 42;
    pipe_.add(&late);
    EXPECT_FALSE(pipe_.flush_held());
    EXPECT_FALSE(read_all().empty());
    EXPECT_TRUE(pipe_.flush_held());
    EXPECT_EQ(read_all(), std::vector<std::uint64_t>{42});
}

TEST_F(EventPipeTest, WithdrawsHeldRecordsToo) {
    while (write(ends_[1], "........", 8) == 8) {
    }
    const std::uint64_t late = 42;
    pipe_.add(&late);
    EXPECT_EQ(pipe_.withdraw(42), 1u);
    EXPECT_TRUE(pipe_.flush_held());
}

TEST_F(EventPipeTest, AClosedReaderEndsNobody) {
    close(ends_[0]);
    ends_[0] = -1;
    signal(SIGPIPE, SIG_DFL);
    const std::uint64_t element = 1;
    pipe_.add(&element);  // SIGPIPE would end the test
    sigset_t pending;
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
    EXPECT_TRUE(pipe_.flush_held());
}

}  // namespace
}  // namespace vroce::provider
