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
#include <vector>

namespace vroce::nic {
namespace {

/// Memory of which reading stands still until it is let go, as on a userfaultfd page.
class BlockingMemory final : public AddressSpace {
public:
    CopyResult read(std::span<const RemotePiece>, std::span<const std::span<std::uint8_t>> to, CopyTag) override {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
        for (const auto& slice : to) std::memset(slice.data(), 0x42, slice.size());
        return CopyResult::Done;
    }
    CopyResult write(std::span<const RemotePiece>, std::span<const std::uint8_t> from, std::size_t, CopyTag) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        written_.assign(from.begin(), from.end());
        return CopyResult::Done;
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
    ASSERT_EQ(copier_->write({&piece, 1}, bytes, 3, {9, CopyDirection::Receive}), CopyResult::Pending);
    bytes.assign({9, 9, 9});  // the caller's buffer is its own again
    await_end();
    EXPECT_EQ(memory_->written(), (std::vector<std::uint8_t>{1, 2, 3}));
}

}  // namespace
}  // namespace vroce::nic
