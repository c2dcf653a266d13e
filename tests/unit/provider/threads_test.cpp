// Several threads post to one QP and poll one CQ while the NIC completes: every request comes back exactly once.
#include <sched.h>

#include <atomic>
#include <thread>

#include "tests/unit/provider/opened_device.hpp"

namespace vroce::provider::test {
namespace {

constexpr std::uint64_t kRequestsPerThread = 5000;
constexpr std::uint64_t kThreads = 2;

class Threads : public OpenedDevice {
protected:
    void post_all(ibv_qp* qp, std::uint64_t first) {
        for (std::uint64_t id = first; id < first + kRequestsPerThread; ++id) {
            int error = ENOMEM;
            while ((error = post_one_send(qp, id)) == ENOMEM) sched_yield();
            EXPECT_EQ(error, 0);
        }
    }
    /// The NIC's worker for one QP.
    void complete_all(ibv_qp* qp) {
        FakeQp& fake_qp = fake(qp);
        for (std::uint32_t index = 0; index < kThreads * kRequestsPerThread; ++index) {
            const std::atomic_ref<std::uint32_t> producer(fake_qp.control()->sq_producer);
            while (producer.load(std::memory_order_acquire) == index) sched_yield();
            nic_.complete_send(fake_qp, index);
        }
    }
    void poll_some(ibv_cq* cq) {
        ibv_wc wc[7];
        while (polled_.load() < kThreads * kRequestsPerThread) {
            const int count = poll_cq(cq, 7, wc);
            for (int i = 0; i < count; ++i) seen_[wc[i].wr_id].fetch_add(1);
            polled_.fetch_add(static_cast<std::uint64_t>(count));
        }
    }
    std::atomic<std::uint64_t> polled_{0};
    std::vector<std::atomic<int>> seen_ = std::vector<std::atomic<int>>(kThreads * kRequestsPerThread);
};

TEST_F(Threads, EveryRequestComesBackOnce) {
    ibv_cq* cq = make_cq(64);
    ibv_qp* qp = make_qp(cq, 30, 1, IBV_QPS_RTS);
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([this, qp, t] { post_all(qp, t * kRequestsPerThread); });
        threads.emplace_back([this, cq] { poll_some(cq); });
    }
    threads.emplace_back([this, qp] { complete_all(qp); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(polled_.load(), kThreads * kRequestsPerThread);
    for (const auto& count : seen_) ASSERT_EQ(count.load(), 1);
    EXPECT_EQ(destroy_qp(qp), 0);
    EXPECT_EQ(destroy_cq(cq), 0);
}

}  // namespace
}  // namespace vroce::provider::test
