// A copy that blocks must block nobody but its own session.
#include "nic/memory/copier.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/nic_memory/slices.hpp"

namespace vroce::nic {
namespace {

/// Memory of which reading stands still until it is let go, as on a userfaultfd page.
class BlockingMemory final : public AddressSpace {
public:
    CopyResult read(std::span<const RemotePiece>, RoomSlices to, CopyTag) override {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
        for (const auto& slice : to) std::memset(slice.data(), 0x42, slice.size());
        return CopyResult::Done;
    }
    CopyResult write(std::span<const RemotePiece>, ByteSlices from, std::size_t, CopyTag) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        written_.clear();
        for (const auto& slice : from) written_.insert(written_.end(), slice.begin(), slice.end());
        first_bytes_.push_back(written_[0]);
        return CopyResult::Done;
    }
    std::vector<std::uint8_t> first_bytes() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return first_bytes_;
    }
    void open() {
        const std::lock_guard<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    std::vector<std::uint8_t> written() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return written_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
    std::vector<std::uint8_t> written_;
    std::vector<std::uint8_t> first_bytes_;
};

class CopierTest : public ::testing::Test {
protected:
    CopierTest() : wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        auto memory = std::make_unique<BlockingMemory>();
        memory_ = memory.get();
        copier_ = std::make_unique<Copier>(std::move(memory), wake_fd_);
    }
    ~CopierTest() override {
        memory_->open();
        copier_.reset();
        close(wake_fd_);
    }
    void await_end() const {
        pollfd wake{wake_fd_, POLLIN, 0};
        ASSERT_EQ(poll(&wake, 1, 10'000), 1);
        std::uint64_t count = 0;
        ASSERT_EQ(::read(wake_fd_, &count, sizeof count), static_cast<ssize_t>(sizeof count));
    }
    /// A read that stands still: the thread has it in hands when this returns.
    void begin_stuck_read(std::uint32_t qpn, std::span<std::uint8_t> slice) {
        const std::uint64_t mark = copier_->mark();
        const RemotePiece piece{0x1000, slice.size(), 1};
        ASSERT_EQ(copier_->read({&piece, 1}, {&slice, 1}, {qpn, CopyDirection::Send}), CopyResult::Pending);
        while (copier_->mark() == mark) std::this_thread::yield();
    }
    void post_write(std::uint32_t qpn, std::uint8_t byte, std::uint32_t key = 1) {
        const RemotePiece piece{0x1000, 1, key};
        ASSERT_EQ(copier_->write({&piece, 1}, cut_into_slices({&byte, 1}), 1, {qpn, CopyDirection::Receive}),
                  CopyResult::Pending);
    }
    /// Until nothing is outstanding: who was told what, in order.
    std::vector<std::pair<std::uint32_t, bool>> collect_all() {
        std::vector<std::pair<std::uint32_t, bool>> told;
        while (!copier_->idle()) {
            copier_->collect([&](CopyTag tag, bool ok) { told.emplace_back(tag.qpn, ok); });
            std::this_thread::yield();
        }
        return told;
    }
    using Told = std::vector<std::pair<std::uint32_t, bool>>;
    int wake_fd_;
    BlockingMemory* memory_ = nullptr;
    std::unique_ptr<Copier> copier_;
};

TEST_F(CopierTest, AReadIsPendingUntilItsDataAreThere) {
    std::array<std::uint8_t, 4> data{};
    const std::span<std::uint8_t> slice(data);
    const RemotePiece piece{0x1000, 4};
    ASSERT_EQ(copier_->read({&piece, 1}, {&slice, 1}, {7, CopyDirection::Send}), CopyResult::Pending);
    int ended = 0;
    copier_->collect([&](CopyTag, bool) { ++ended; });
    EXPECT_EQ(ended, 0);
    EXPECT_EQ(data[0], 0);
    memory_->open();
    await_end();
    copier_->collect([&](CopyTag tag, bool ok) {
        ++ended;
        EXPECT_TRUE(ok);
        EXPECT_EQ(tag.qpn, 7u);
    });
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(data, (std::array<std::uint8_t, 4>{0x42, 0x42, 0x42, 0x42}));
    EXPECT_TRUE(copier_->idle());
}

TEST_F(CopierTest, ACancelledReadTouchesNothing) {
    std::array<std::uint8_t, 4> data{};
    const std::span<std::uint8_t> slice(data);
    const RemotePiece piece{0x1000, 4};
    ASSERT_EQ(copier_->read({&piece, 1}, {&slice, 1}, {7, CopyDirection::Send}), CopyResult::Pending);
    copier_->cancel(7);
    memory_->open();
    await_end();
    copier_->collect([](CopyTag, bool) { ADD_FAILURE() << "told of a copy that was cancelled"; });
    EXPECT_EQ(data, (std::array<std::uint8_t, 4>{}));
}

TEST_F(CopierTest, AWriteCarriesItsBytesAway) {
    std::vector<std::uint8_t> bytes{1, 2, 3};
    const RemotePiece piece{0x1000, 3};
    ASSERT_EQ(copier_->write({&piece, 1}, cut_into_slices(bytes), 3, {9, CopyDirection::Receive}), CopyResult::Pending);
    bytes.assign({9, 9, 9});  // the caller's buffer is its own again
    await_end();
    EXPECT_EQ(memory_->written(), (std::vector<std::uint8_t>{1, 2, 3}));
}

TEST_F(CopierTest, CopiesEndInTheOrderInWhichTheyWereAsked) {
    // More than the rings hold: the rest waits with the worker.
    constexpr std::uint32_t kMany = 1'000;
    std::array<std::uint8_t, 4> data{};
    begin_stuck_read(0, data);
    for (std::uint32_t i = 1; i <= kMany; ++i) post_write(i, static_cast<std::uint8_t>(i));
    memory_->open();
    const Told told = collect_all();
    ASSERT_EQ(told.size(), kMany + 1);
    for (std::uint32_t i = 0; i <= kMany; ++i) ASSERT_EQ(told[i], std::make_pair(i, true));
    const std::vector<std::uint8_t> bytes = memory_->first_bytes();
    for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(bytes[i], static_cast<std::uint8_t>(i + 1));
}

TEST_F(CopierTest, ACopyMayBeAskedForWhileOneIsCollected) {
    post_write(1, 1);
    int rounds = 0;
    while (!copier_->idle())
        copier_->collect([&](CopyTag tag, bool) {
            if (++rounds < 1'000) post_write(tag.qpn, 1);
        });
    EXPECT_EQ(rounds, 1'000);
}

TEST_F(CopierTest, WhatIsCancelledBeforeItBeganNeverReachesTheApplication) {
    std::array<std::uint8_t, 4> data{};
    begin_stuck_read(1, data);
    post_write(2, 22);
    post_write(3, 33);
    copier_->cancel(2);
    EXPECT_TRUE(copier_->waited_for());
    memory_->open();
    EXPECT_EQ(collect_all(), (Told{{1, true}, {3, true}}));
    EXPECT_EQ(memory_->first_bytes(), std::vector<std::uint8_t>{33});
}

TEST_F(CopierTest, CancellingAllLeavesNobodyWaiting) {
    std::array<std::uint8_t, 4> data{};
    begin_stuck_read(1, data);
    for (std::uint32_t i = 2; i < 600; ++i) post_write(i, 1);
    copier_->cancel_all();
    EXPECT_FALSE(copier_->waited_for());
    EXPECT_FALSE(copier_->idle()) << "one is stuck";
    memory_->open();
    EXPECT_EQ(collect_all(), Told{});
    EXPECT_TRUE(memory_->first_bytes().empty());
    EXPECT_EQ(data, (std::array<std::uint8_t, 4>{}));
}

TEST_F(CopierTest, ARegionThatGoesTakesItsCopiesWithIt) {
    std::array<std::uint8_t, 4> data{};
    begin_stuck_read(1, data);
    post_write(2, 22, 7);
    post_write(3, 33, 8);
    copier_->revoke_key(7);
    memory_->open();
    EXPECT_EQ(collect_all(), (Told{{1, true}, {2, false}, {3, true}}));
    EXPECT_EQ(memory_->first_bytes(), std::vector<std::uint8_t>{33});
}

TEST_F(CopierTest, AQueuePairInErrorIsToldOfItsCopiesAsFailed) {
    std::array<std::uint8_t, 4> data{};
    begin_stuck_read(1, data);
    post_write(2, 22);
    post_write(3, 33);
    copier_->revoke_qp(2);
    memory_->open();
    EXPECT_EQ(collect_all(), (Told{{1, true}, {2, false}, {3, true}}));
}

TEST_F(CopierTest, AMarkIsPassedWhenWhatRanIsOver) {
    EXPECT_TRUE(copier_->passed(copier_->mark())) << "nothing runs";
    std::array<std::uint8_t, 4> data{};
    begin_stuck_read(1, data);
    const std::uint64_t mark = copier_->mark();
    EXPECT_FALSE(copier_->passed(mark));
    memory_->open();
    await_end();
    while (!copier_->passed(mark)) std::this_thread::yield();
    static_cast<void>(collect_all());
}

TEST_F(CopierTest, TooManyPiecesAreRefusedAtOnce) {
    const std::vector<RemotePiece> pieces(AddressSpace::kPiecesMax + 1, RemotePiece{0, 1});
    const std::vector<std::uint8_t> bytes(pieces.size());
    EXPECT_EQ(copier_->write(pieces, cut_into_slices(bytes), 0, {}), CopyResult::Fault);
    EXPECT_TRUE(copier_->idle());
}

}  // namespace
}  // namespace vroce::nic
