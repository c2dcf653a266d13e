// Memory that does not answer: the session that it belongs to ends in error, and nothing of the NIC's stays with it.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/unit/nic_device/host.hpp"

namespace vroce::nic {
namespace {

/// Stands still like a userfaultfd page, until it is let go.
class Gate {
public:
    void pass() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
    }
    void open() {
        const std::lock_guard<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

class GatedMemory final : public AddressSpace {
public:
    GatedMemory(Gate& gate, std::atomic<int>& calls) : gate_(gate), calls_(calls) {}
    CopyResult read(std::span<const RemotePiece> from, std::span<const std::span<std::uint8_t>> to,
                    CopyTag tag) override {
        ++calls_;
        gate_.pass();
        return memory_.read(from, to, tag);
    }
    CopyResult write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, CopyTag tag) override {
        ++calls_;
        gate_.pass();
        return memory_.write(to, from, tail_bytes, tag);
    }

private:
    Gate& gate_;
    std::atomic<int>& calls_;
    PeerMemory memory_{getpid()};
};

class StuckCopies : public ::testing::Test {
protected:
    StuckCopies() {
        key = a.register_memory(source.data(), source.size());
        qp = a.make_qp();
        bystander = a.make_qp();
        for (const TestQp* each : {qp.get(), bystander.get()}) {
            a.to_init(*each);
            a.to_rtr(*each, 2, 99);
            a.to_rts(*each);
        }
        idle = a.make_qp();
    }
    ~StuckCopies() override { gate.open(); }
    void post_write(TestQp& on) {
        vroce_send_wqe wqe{};
        wqe.opcode = VROCE_WR_RDMA_WRITE;
        wqe.flags = VROCE_SEND_SIGNALED;
        a.post_send(on, wqe, {{reinterpret_cast<std::uint64_t>(source.data()), 4'000, key}});
        iterate();
    }
    void iterate() {
        a.device.set_time(a.now);
        a.device.scan_doorbells(a.now);
        a.device.collect_copies(a.now);
        std::array<Packet*, 32> burst{};
        EXPECT_EQ(a.engine.transmit(a.now, burst), 0u);
        a.device.collect_copies(a.now);
    }

    std::size_t transmit_all() {
        std::array<Packet*, 32> burst{};
        const std::size_t count = a.engine.transmit(a.now, burst);
        for (std::size_t i = 0; i < count; ++i) a.pool.free(burst[i]);
        return count;
    }
    void let_all_end() {
        gate.open();
        while (!a.copier->idle()) a.device.collect_copies(a.now);
    }

    Gate gate;
    std::atomic<int> calls{0};  ///< copies that reached the application's memory
    std::array<std::uint8_t, 4'096> source{};
    Host a{1, [this] { return std::make_unique<GatedMemory>(gate, calls); }};
    std::uint32_t key = 0;
    std::unique_ptr<TestQp> qp;
    std::unique_ptr<TestQp> bystander;
    std::unique_ptr<TestQp> idle;
};

TEST_F(StuckCopies, EndInErrorAfterTheLimitAndNotBefore) {
    a.device.set_copy_limit(milliseconds(100));
    EXPECT_EQ(a.device.next_deadline(), kNever);
    post_write(*qp);
    EXPECT_EQ(a.device.next_deadline(), a.now + milliseconds(100));
    EXPECT_GT(a.pool.in_use(), 0u);
    a.now += milliseconds(99);
    iterate();
    EXPECT_EQ(a.state(*qp), QpState::Rts);
    a.now += milliseconds(1);
    iterate();
    EXPECT_EQ(a.state(*qp), QpState::Err);
    EXPECT_EQ(a.state(*bystander), QpState::Err) << "the whole session";
    EXPECT_EQ(a.state(*idle), QpState::Reset) << "which has nothing to lose";
    EXPECT_EQ(a.count(DeviceCounter::CopiesStuck), 1u);
    EXPECT_EQ(a.pool.in_use(), 0u) << "packets do not wait for whoever never answers";
    ASSERT_EQ(a.events.async.size(), 2u);
    EXPECT_EQ(a.events.async[0].event_type, static_cast<std::uint32_t>(AsyncEventType::QpFatal));
    const std::vector<vroce_cqe> entries = a.poll();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].status, static_cast<std::uint8_t>(WcStatus::WrFlushErr));
    EXPECT_EQ(a.device.next_deadline(), kNever) << "nobody waits any more";
    a.now += seconds(10);
    iterate();
    EXPECT_EQ(a.count(DeviceCounter::CopiesStuck), 1u);
}

TEST_F(StuckCopies, SlowIsNotStuck) {
    post_write(*qp);
    let_all_end();
    a.now += seconds(10);
    a.device.collect_copies(a.now);
    EXPECT_EQ(a.state(*qp), QpState::Rts);
    EXPECT_EQ(a.count(DeviceCounter::CopiesStuck), 0u);
}

TEST_F(StuckCopies, DestructionLeavesNoPacketBehind) {
    post_write(*qp);
    ASSERT_GT(a.pool.in_use(), 0u);
    std::uint32_t events = 0;
    ASSERT_EQ(a.device.destroy_qp(*a.context, qp->handle, events), 0);
    EXPECT_EQ(a.pool.in_use(), 0u);
    let_all_end();
    EXPECT_EQ(a.pool.in_use(), 0u);
}

TEST_F(StuckCopies, ResetLeavesNoPacketBehindAndTheQueuePairGoesOn) {
    post_write(*qp);
    ASSERT_EQ(a.modify(*qp, QpState::Reset), 0);
    EXPECT_EQ(a.pool.in_use(), 0u);
    gate.open();
    qp->sent = qp->rings.control.sq_producer = 0;
    a.to_init(*qp);
    a.to_rtr(*qp, 2, 99);
    a.to_rts(*qp);
    vroce_send_wqe wqe{};
    wqe.opcode = VROCE_WR_RDMA_WRITE;
    a.post_send(*qp, wqe, {{reinterpret_cast<std::uint64_t>(source.data()), 1'000, key}});
    std::array<Packet*, 32> burst{};
    std::size_t count = 0;
    while (count == 0) {
        a.device.scan_doorbells(a.now);
        a.device.collect_copies(a.now);
        count = a.engine.transmit(a.now, burst);
    }
    EXPECT_EQ(count, 1u);
    a.pool.free(burst[0]);
}

TEST_F(StuckCopies, WhatIsFlushedIsTheApplicationsAgain) {
    post_write(*qp);
    while (calls == 0) std::this_thread::yield();
    post_write(*bystander);
    ASSERT_EQ(a.modify(*bystander, QpState::Err), 0);
    EXPECT_EQ(a.poll().size(), 1u) << "flushed";
    let_all_end();
    EXPECT_EQ(calls, 1) << "its copy had not begun, and never does";
}

TEST_F(StuckCopies, ADeregisteredRegionIsNotTouchedByCopiesThatHadNotBegun) {
    post_write(*qp);
    while (calls == 0) std::this_thread::yield();
    const std::uint64_t mark = a.copier->mark();
    post_write(*bystander);
    ASSERT_EQ(a.device.dereg_mr(*a.context, a.last_mr), 0);
    EXPECT_FALSE(a.copier->passed(mark)) << "one had";
    let_all_end();
    EXPECT_TRUE(a.copier->passed(mark));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(transmit_all(), 4u) << "of the write whose copy had begun";
    EXPECT_EQ(a.state(*bystander), QpState::Err);
}

TEST_F(StuckCopies, AClosedContextLeavesNoPacketBehind) {
    post_write(*qp);
    post_write(*bystander);
    // The copier lives with the context here, and its thread ends only when the memory lets go of it.
    std::thread later([this] { gate.open(); });
    a.device.close_context(a.context);
    later.join();
    EXPECT_EQ(a.pool.in_use(), 0u);
    EXPECT_EQ(a.device.qp_count(), 0u);
}

}  // namespace
}  // namespace vroce::nic
