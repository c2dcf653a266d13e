// The NIC process dies under the plugin; a child is forked. Neither may hang, crash or lie.
#include <sys/wait.h>

#include "tests/unit/provider/opened_device.hpp"

namespace vroce::provider::test {
namespace {

class Death : public OpenedDevice {
protected:
    void SetUp() override {
        OpenedDevice::SetUp();
        cq_ = make_cq(64);
        ASSERT_NE(cq_, nullptr);
        qp_ = make_qp(cq_, 8, 8, IBV_QPS_RTS);
        ASSERT_NE(qp_, nullptr);
    }
    void TearDown() override {
        EXPECT_EQ(destroy_qp(qp_), 0);
        EXPECT_EQ(destroy_cq(cq_), 0);
        OpenedDevice::TearDown();
    }
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
};

TEST_F(Death, FlushesEverythingOnceAndInOrderAfterWhatWasDone) {
    for (std::uint64_t id = 0; id < 4; ++id) ASSERT_EQ(post_one_send(qp_, id, 0), 0);
    for (std::uint64_t id = 10; id < 13; ++id) ASSERT_EQ(post_one_recv(qp_, id), 0);
    nic_.complete_send(fake(qp_), 0);
    nic_.complete_recv(fake(qp_), 0);
    nic_.die();
    wait_until_dead();
    std::vector<std::uint64_t> ids;
    std::vector<ibv_wc_status> statuses;
    ibv_wc wc[2];
    for (int count = poll_cq(cq_, 2, wc); count > 0; count = poll_cq(cq_, 2, wc)) {
        for (int i = 0; i < count; ++i) {
            ids.push_back(wc[i].wr_id);
            statuses.push_back(wc[i].status);
            EXPECT_EQ(wc[i].qp_num, qp_->qp_num);
        }
    }
    EXPECT_EQ(ids, (std::vector<std::uint64_t>{0, 10, 1, 2, 3, 11, 12}));
    EXPECT_EQ(statuses[1], IBV_WC_SUCCESS);
    EXPECT_EQ(statuses[2], IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(statuses[6], IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Death, PostsAreTakenAndFlushed) {
    nic_.die();
    wait_until_dead();
    EXPECT_EQ(post_one_send(qp_, 1), 0);
    EXPECT_EQ(post_one_recv(qp_, 2), 0);
    ibv_wc wc[4];
    ASSERT_EQ(poll_cq(cq_, 4, wc), 2);
    EXPECT_EQ(wc[0].wr_id, 1u);
    EXPECT_EQ(wc[0].opcode, IBV_WC_SEND);
    EXPECT_EQ(wc[1].wr_id, 2u);
    EXPECT_EQ(wc[1].opcode, IBV_WC_RECV);
    EXPECT_EQ(poll_cq(cq_, 4, wc), 0);
}

TEST_F(Death, IsToldAsAnAsyncEvent) {
    nic_.die();
    vroce_async_event event{};
    ASSERT_EQ(read(verbs()->async_fd, &event, sizeof event), static_cast<ssize_t>(sizeof event));
    EXPECT_EQ(event.event_type, static_cast<std::uint32_t>(IBV_EVENT_DEVICE_FATAL));
}

TEST_F(Death, ControlVerbsAnswerEIO) {
    nic_.die();
    wait_until_dead();
    EXPECT_EQ(move_to(qp_, IBV_QPS_ERR), EIO);
    EXPECT_EQ(alloc_pd(verbs()), nullptr);
    EXPECT_EQ(errno, EIO);
    EXPECT_EQ(create_cq(verbs(), 4, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EIO);
    char buffer[64];
    EXPECT_EQ(reg_mr(pd_, buffer, 64, 0, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EIO);
    ibv_device_attr_ex attr;
    EXPECT_EQ(query_device_ex(verbs(), nullptr, &attr, sizeof attr), 0) << "the limits are known";
}

TEST_F(Death, AForkedChildTouchesNothing) {
    ASSERT_EQ(post_one_send(qp_, 1), 0);
    const std::uint32_t requests = nic_.count(VROCE_MODIFY_QP) + nic_.count(VROCE_DESTROY_QP);
    const pid_t child = fork();
    if (child == 0) {
        ibv_wc wc;
        const bool refused = post_one_send(qp_, 2) == EIO && post_one_recv(qp_, 3) == EIO && poll_cq(cq_, 1, &wc) < 0 &&
                             move_to(qp_, IBV_QPS_ERR) == EIO && alloc_pd(verbs()) == nullptr &&
                             req_notify_cq(cq_, 0) == EIO;
        const bool let_go = destroy_qp(qp_) == 0 && dealloc_pd(pd_) == 0;
        context_.reset();
        _exit(refused && let_go ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(fake(qp_).control()->sq_producer, 1u);
    EXPECT_EQ(nic_.count(VROCE_MODIFY_QP) + nic_.count(VROCE_DESTROY_QP), requests);
    EXPECT_FALSE(context_->dead());
    nic_.complete_send(fake(qp_), 0);
    ibv_wc wc;
    EXPECT_EQ(poll_cq(cq_, 1, &wc), 1) << "the parent goes on";
}

TEST_F(Death, AForkedChildMayOpenTheDeviceItself) {
    const pid_t child = fork();
    if (child == 0) {
        FakeNic nic;
        ContextBlock block{};
        Context own(block.verbs, "vroce0");
        block.context = &own;
        const bool opened = own.open(nic.socket_path().c_str()) == 0;
        ibv_pd* pd = opened ? alloc_pd(&block.verbs.context) : nullptr;
        _exit(pd != nullptr && !context_->usable() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(context_->usable());
}

}  // namespace
}  // namespace vroce::provider::test
