#include "tests/unit/provider/opened_device.hpp"

namespace vroce::provider::test {
namespace {

class QpVerbs : public OpenedDevice {
protected:
    void SetUp() override {
        OpenedDevice::SetUp();
        cq_ = make_cq(16);
        ASSERT_NE(cq_, nullptr);
    }
    void TearDown() override {
        EXPECT_EQ(destroy_cq(cq_), 0);
        OpenedDevice::TearDown();
    }
    int create_error(ibv_qp_init_attr attr) {
        ibv_qp* qp = create_qp(pd_, &attr);
        if (qp == nullptr) return errno;
        EXPECT_EQ(destroy_qp(qp), 0);
        return 0;
    }
    ibv_cq* cq_ = nullptr;
};

TEST_F(QpVerbs, ReturnsWhatHolds) {
    ibv_qp_init_attr attr = init_attr(cq_, 10, 20);
    ibv_qp* qp = create_qp(pd_, &attr);
    ASSERT_NE(qp, nullptr);
    EXPECT_GE(attr.cap.max_send_wr, 10u);
    EXPECT_GE(attr.cap.max_recv_wr, 20u);
    EXPECT_GE(attr.cap.max_inline_data, 64u);
    EXPECT_EQ(qp->state, IBV_QPS_RESET);
    EXPECT_EQ(qp->pd, pd_);
    ibv_qp_attr now{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(query_qp(qp, &now, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(init.cap.max_send_wr, attr.cap.max_send_wr);
    EXPECT_EQ(init.send_cq, cq_);
    EXPECT_EQ(destroy_qp(qp), 0);
}

TEST_F(QpVerbs, RefusesOtherTypesByTheirName) {
    ibv_qp_init_attr attr = init_attr(cq_, 1, 1);
    for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND}) {
        attr.qp_type = type;
        EXPECT_EQ(create_error(attr), EOPNOTSUPP);
    }
    attr = init_attr(cq_, 1, 1);
    attr.send_cq = nullptr;
    EXPECT_EQ(create_error(attr), EINVAL);
}

TEST_F(QpVerbs, LeavesNothingWhenTheNicRefuses) {
    nic_.refuse[VROCE_CREATE_QP] = EINVAL;
    EXPECT_EQ(create_error(init_attr(cq_, 1, 1)), EINVAL);
    nic_.refuse.clear();
}

TEST_F(QpVerbs, KeepsItsStateWhenAChangeIsRefused) {
    ibv_qp* qp = make_qp(cq_, 4, 4, IBV_QPS_RTS);
    nic_.refuse[VROCE_MODIFY_QP] = EINVAL;
    EXPECT_EQ(move_to(qp, IBV_QPS_RESET), EINVAL);
    EXPECT_EQ(post_one_send(qp, 1), 0) << "still in RTS";
    nic_.refuse.clear();
    EXPECT_EQ(destroy_qp(qp), 0);
}

TEST_F(QpVerbs, ACqInUseIsBusy) {
    ibv_qp* qp = make_qp(cq_, 1, 1, IBV_QPS_RESET);
    EXPECT_EQ(destroy_cq(cq_), EBUSY);
    EXPECT_EQ(destroy_qp(qp), 0);
}

TEST_F(QpVerbs, WithdrawsUnreadAsyncEvents) {
    ibv_qp* doomed = make_qp(cq_, 1, 1, IBV_QPS_RTS);
    ibv_qp* other = make_qp(cq_, 1, 1, IBV_QPS_RTS);
    nic_.send_async_event(reinterpret_cast<std::uint64_t>(doomed), IBV_EVENT_COMM_EST);
    nic_.send_async_event(reinterpret_cast<std::uint64_t>(other), IBV_EVENT_QP_FATAL);
    EXPECT_EQ(destroy_qp(doomed), 0);
    vroce_async_event event{};
    ASSERT_EQ(read(verbs()->async_fd, &event, sizeof event), static_cast<ssize_t>(sizeof event));
    EXPECT_EQ(event.element, reinterpret_cast<std::uint64_t>(other));
    other->events_completed = 1;  // as ibv_ack_async_event
    EXPECT_EQ(destroy_qp(other), 0);
}

TEST_F(QpVerbs, WaitsForTheAcknowledgement) {
    ibv_qp* qp = make_qp(cq_, 1, 1, IBV_QPS_RTS);
    nic_.send_async_event(reinterpret_cast<std::uint64_t>(qp), IBV_EVENT_COMM_EST);
    vroce_async_event event{};
    ASSERT_EQ(read(verbs()->async_fd, &event, sizeof event), static_cast<ssize_t>(sizeof event));
    std::atomic<bool> acknowledged{false};
    std::thread destroyer([&] {
        EXPECT_EQ(destroy_qp(qp), 0);
        EXPECT_TRUE(acknowledged.load());
    });
    while (nic_.count(VROCE_DESTROY_QP) == 0) usleep(100);
    acknowledged = true;
    pthread_mutex_lock(&qp->mutex);
    ++qp->events_completed;
    pthread_cond_signal(&qp->cond);
    pthread_mutex_unlock(&qp->mutex);
    destroyer.join();
}

TEST_F(QpVerbs, CqSizesAndVectorsAreChecked) {
    EXPECT_EQ(create_cq(verbs(), 0, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(create_cq(verbs(), 70000, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(create_cq(verbs(), 1, nullptr, 2), nullptr);
    EXPECT_EQ(errno, EINVAL);
    ibv_cq* cq = make_cq(5);
    EXPECT_GE(cq->cqe, 5);
    EXPECT_EQ(destroy_cq(cq), 0);
}

}  // namespace
}  // namespace vroce::provider::test
