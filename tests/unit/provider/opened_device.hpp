// A context opened on a FakeNic without libibverbs: what the tests of single files work on.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "provider/src/context.hpp"
#include "provider/src/verbs.hpp"
#include "tests/unit/provider/fake_nic.hpp"

namespace vroce::provider::test {

class OpenedDevice : public testing::Test {
protected:
    void SetUp() override {
        context_ = std::make_unique<Context>(block_.verbs, "vroce0");
        block_.context = context_.get();
        ASSERT_EQ(context_->open(nic_.socket_path().c_str()), 0);
        pd_ = alloc_pd(verbs());
        ASSERT_NE(pd_, nullptr);
    }
    void TearDown() override {
        if (pd_ != nullptr) {
            EXPECT_EQ(dealloc_pd(pd_), 0);
        }
        context_.reset();
    }

    ibv_context* verbs() { return &block_.verbs.context; }

    ibv_cq* make_cq(int cqe, ibv_comp_channel* channel = nullptr) {
        ibv_cq* cq = create_cq(verbs(), cqe, channel, 0);
        if (cq == nullptr) return nullptr;
        cq->context = verbs();
        pthread_mutex_init(&cq->mutex, nullptr);
        pthread_cond_init(&cq->cond, nullptr);
        return cq;
    }

    static ibv_qp_init_attr init_attr(ibv_cq* cq, std::uint32_t send_wr, std::uint32_t recv_wr) {
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = cq;
        attr.cap = {send_wr, recv_wr, 4, 4, 64};
        attr.qp_type = IBV_QPT_RC;
        return attr;
    }

    ibv_qp* make_qp(ibv_cq* cq, std::uint32_t send_wr, std::uint32_t recv_wr, ibv_qp_state state) {
        ibv_qp_init_attr attr = init_attr(cq, send_wr, recv_wr);
        ibv_qp* qp = create_qp(pd_, &attr);
        if (qp != nullptr && state != IBV_QPS_RESET) {
            EXPECT_EQ(move_to(qp, state), 0);
        }
        return qp;
    }

    static int move_to(ibv_qp* qp, ibv_qp_state state) {
        ibv_qp_attr attr{};
        attr.qp_state = state;
        return modify_qp(qp, &attr, IBV_QP_STATE);
    }

    FakeQp& fake(ibv_qp* qp) { return nic_.qp(qp->handle); }
    FakeCq& fake(ibv_cq* cq) { return nic_.cq(cq->handle); }

    static int post_one_send(ibv_qp* qp, std::uint64_t wr_id, unsigned flags = IBV_SEND_SIGNALED) {
        ibv_sge sge{0x1000, 8, 7};
        ibv_send_wr wr{};
        wr.wr_id = wr_id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        wr.send_flags = flags;
        ibv_send_wr* bad = nullptr;
        return post_send(qp, &wr, &bad);
    }

    static int post_one_recv(ibv_qp* qp, std::uint64_t wr_id) {
        ibv_sge sge{0x2000, 8, 7};
        ibv_recv_wr wr{};
        wr.wr_id = wr_id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        return post_recv(qp, &wr, &bad);
    }

    /// Waits for what the watcher thread does; it must come, however long it takes.
    void wait_until_dead() const {
        while (!context_->dead()) usleep(100);
    }

    FakeNic nic_;
    ContextBlock block_{};
    std::unique_ptr<Context> context_;
    ibv_pd* pd_ = nullptr;
};

}  // namespace vroce::provider::test
