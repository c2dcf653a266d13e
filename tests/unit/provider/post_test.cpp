#include "tests/unit/provider/opened_device.hpp"

namespace vroce::provider::test {
namespace {

class Post : public OpenedDevice {
protected:
    void SetUp() override {
        OpenedDevice::SetUp();
        cq_ = make_cq(64);
        ASSERT_NE(cq_, nullptr);
    }
    void TearDown() override {
        for (ibv_qp* qp : qps_) EXPECT_EQ(destroy_qp(qp), 0);
        EXPECT_EQ(destroy_cq(cq_), 0);
        OpenedDevice::TearDown();
    }
    ibv_qp* qp(ibv_qp_state state, std::uint32_t send_wr = 4, std::uint32_t recv_wr = 4) {
        ibv_qp* made = make_qp(cq_, send_wr, recv_wr, state);
        qps_.push_back(made);
        return made;
    }
    bool rung(ibv_qp* qp) {
        const std::uint32_t slot = fake(qp).reply.slot;
        const std::uint64_t leaf = nic_.doorbells().leaf[slot / 64];
        nic_.doorbells().leaf[slot / 64] = 0;
        const std::uint64_t summary = nic_.doorbells().summary[0];
        nic_.doorbells().summary[0] = 0;
        const bool set = (leaf >> (slot % 64) & 1) != 0;
        EXPECT_EQ(set, summary != 0);
        return set;
    }
    std::vector<ibv_wc> poll() {
        std::vector<ibv_wc> wc(64);
        const int count = poll_cq(cq_, 64, wc.data());
        wc.resize(static_cast<std::size_t>(std::max(count, 0)));
        return wc;
    }
    ibv_cq* cq_ = nullptr;
    std::vector<ibv_qp*> qps_;
};

TEST_F(Post, WritesTheRequestAsAsked) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS);
    ibv_sge sges[2] = {{0x1000, 16, 5}, {0x2000, 32, 6}};
    ibv_send_wr wr{};
    wr.wr_id = 77;
    wr.sg_list = sges;
    wr.num_sge = 2;
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
    wr.imm_data = 0x01020304;
    wr.wr.rdma = {0xABCD, 0x99};
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(post_send(qp, &wr, &bad), 0);
    const vroce_send_wqe& wqe = *fake(qp).send_wqe(0);
    const auto* out = reinterpret_cast<const vroce_sge*>(&wqe + 1);
    EXPECT_EQ(wqe.wr_id, 77u);
    EXPECT_EQ(wqe.remote_addr, 0xABCDu);
    EXPECT_EQ(wqe.rkey, 0x99u);
    EXPECT_EQ(wqe.imm, 0x01020304u);
    EXPECT_EQ(wqe.opcode, VROCE_WR_RDMA_WRITE_WITH_IMM);
    EXPECT_EQ(wqe.flags, VROCE_SEND_SIGNALED | VROCE_SEND_FENCE);
    ASSERT_EQ(wqe.sge_count, 2);
    EXPECT_EQ(out[1].addr, 0x2000u);
    EXPECT_EQ(out[1].length, 32u);
    EXPECT_EQ(out[1].lkey, 6u);
    EXPECT_EQ(fake(qp).control()->sq_producer, 1u);
}

TEST_F(Post, CopiesInlineDataAtOnce) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS);
    char data[] = "hello, ring";
    ibv_sge sges[3] = {
        {reinterpret_cast<std::uint64_t>(data), 5, 0}, {0, 0, 0}, {reinterpret_cast<std::uint64_t>(data) + 7, 4, 0}};
    ibv_send_wr wr{};
    wr.sg_list = sges;
    wr.num_sge = 3;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_INLINE;
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(post_send(qp, &wr, &bad), 0);
    std::memset(data, 'x', sizeof data);
    const vroce_send_wqe& wqe = *fake(qp).send_wqe(0);
    EXPECT_EQ(wqe.inline_bytes, 9u);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(&wqe + 1), 9), "helloring");
}

TEST_F(Post, RefusesTooMuchInline) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS);
    char data[65] = {};
    // The lengths of the second list add up to 2 in 32 bits.
    ibv_sge lists[2][2] = {{{reinterpret_cast<std::uint64_t>(data), 65, 0}, {}},
                           {{0, 0x80000001, 0}, {0, 0x80000001, 0}}};
    for (auto& list : lists) {
        ibv_send_wr wr{};
        wr.sg_list = list;
        wr.num_sge = 2;
        wr.opcode = IBV_WR_SEND;
        wr.send_flags = IBV_SEND_INLINE;
        ibv_send_wr* bad = nullptr;
        EXPECT_EQ(post_send(qp, &wr, &bad), EINVAL);
        EXPECT_EQ(bad, &wr);
    }
    EXPECT_EQ(fake(qp).control()->sq_producer, 0u);
    EXPECT_FALSE(rung(qp));
}

TEST_F(Post, UsesEverySlotAndNoMore) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS, 3, 3);  // rings of 4 slots
    for (std::uint64_t id = 0; id < 3; ++id) EXPECT_EQ(post_one_send(qp, id), 0);
    EXPECT_EQ(post_one_send(qp, 3), ENOMEM);
    for (std::uint64_t id = 0; id < 3; ++id) EXPECT_EQ(post_one_recv(qp, id), 0);
    EXPECT_EQ(post_one_recv(qp, 3), ENOMEM);
    nic_.complete_send(fake(qp), 0);
    EXPECT_EQ(post_one_send(qp, 3), ENOMEM) << "a slot is free when its completion was polled, not before";
    EXPECT_EQ(poll().size(), 1u);
    EXPECT_EQ(post_one_send(qp, 3), 0);
    EXPECT_EQ(post_one_send(qp, 4), ENOMEM);
}

TEST_F(Post, AQueueForNothingTakesNothing) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS, 1, 0);
    ASSERT_NE(qp, nullptr);
    EXPECT_EQ(post_one_recv(qp, 1), ENOMEM);
    EXPECT_EQ(post_one_send(qp, 1), 0);
}

TEST_F(Post, ACompletionFreesUnsignalledRequestsBeforeIt) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS, 4, 1);
    for (std::uint64_t id = 0; id < 3; ++id) EXPECT_EQ(post_one_send(qp, id, 0), 0);
    EXPECT_EQ(post_one_send(qp, 3), 0);
    nic_.complete_send(fake(qp), 3);
    EXPECT_EQ(poll().size(), 1u);
    for (std::uint64_t id = 4; id < 8; ++id) EXPECT_EQ(post_one_send(qp, id), 0);
    EXPECT_EQ(post_one_send(qp, 8), ENOMEM);
}

TEST_F(Post, WrapsAroundItsRings) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS, 3, 3);
    for (std::uint64_t id = 0; id < 300; ++id) {  // also the CQ of 64 goes round several times
        ASSERT_EQ(post_one_send(qp, id), 0);
        ASSERT_EQ(post_one_recv(qp, 1000 + id), 0);
        nic_.complete_send(fake(qp), static_cast<std::uint32_t>(id));
        nic_.complete_recv(fake(qp), static_cast<std::uint32_t>(id));
        const auto wc = poll();
        ASSERT_EQ(wc.size(), 2u);
        EXPECT_EQ(wc[0].wr_id, id);
        EXPECT_EQ(wc[1].wr_id, 1000 + id);
        EXPECT_EQ(wc[1].opcode, IBV_WC_RECV);
    }
    EXPECT_EQ(fake(cq_).control()->consumer, 600u);
}

TEST_F(Post, StopsAtTheBadRequestAndSubmitsThoseBefore) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS, 8, 1);
    ibv_sge sge{0, 1, 1};
    ibv_send_wr wr[3] = {};
    for (int i = 0; i < 3; ++i) {
        wr[i].next = i < 2 ? &wr[i + 1] : nullptr;
        wr[i].sg_list = &sge;
        wr[i].num_sge = 1;
        wr[i].opcode = IBV_WR_SEND;
    }
    wr[1].num_sge = 100;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(post_send(qp, wr, &bad), EINVAL);
    EXPECT_EQ(bad, &wr[1]);
    EXPECT_EQ(fake(qp).control()->sq_producer, 1u);
    EXPECT_TRUE(rung(qp));
}

TEST_F(Post, NamesWhatItCannotDo) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS);
    const auto post = [qp](int opcode, unsigned flags) {
        ibv_send_wr wr{};
        wr.opcode = static_cast<ibv_wr_opcode>(opcode);
        wr.send_flags = flags;
        ibv_send_wr* bad = nullptr;
        return post_send(qp, &wr, &bad);
    };
    EXPECT_EQ(post(IBV_WR_ATOMIC_CMP_AND_SWP, 0), EOPNOTSUPP);
    EXPECT_EQ(post(IBV_WR_SEND_WITH_INV, 0), EOPNOTSUPP);
    EXPECT_EQ(post(250, 0), EINVAL);
    EXPECT_EQ(post(IBV_WR_RDMA_READ, IBV_SEND_INLINE), EINVAL);
    EXPECT_EQ(post(IBV_WR_RDMA_READ, 0), 0);
}

TEST_F(Post, TheStateDecides) {
    ibv_qp* qp = this->qp(IBV_QPS_RESET, 8, 8);
    EXPECT_EQ(post_one_recv(qp, 1), EINVAL);
    EXPECT_EQ(post_one_send(qp, 1), EINVAL);
    for (ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR}) {
        ASSERT_EQ(move_to(qp, state), 0);
        EXPECT_EQ(post_one_recv(qp, 1), 0);
        EXPECT_EQ(post_one_send(qp, 1), EINVAL);
    }
    for (ibv_qp_state state : {IBV_QPS_RTS, IBV_QPS_ERR}) {
        ASSERT_EQ(move_to(qp, state), 0);
        EXPECT_EQ(post_one_recv(qp, 1), 0);
        EXPECT_EQ(post_one_send(qp, 1), 0);
    }
}

TEST_F(Post, RingsForReceivesOnlyWhereNobodyElseWouldLook) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS, 8, 8);
    EXPECT_EQ(post_one_recv(qp, 1), 0);
    EXPECT_TRUE(rung(qp)) << "an empty queue may belong to a QP in error";
    EXPECT_EQ(post_one_recv(qp, 2), 0);
    EXPECT_FALSE(rung(qp));
    nic_.complete_recv(fake(qp), 0, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(poll().size(), 1u);
    EXPECT_TRUE(rung(qp)) << "the error was seen: what was posted since must be flushed";
    EXPECT_EQ(post_one_recv(qp, 3), 0);
    EXPECT_TRUE(rung(qp));
}

TEST_F(Post, WakesAWorkerOnlyWhenItSleeps) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS, 8, 1);
    static_cast<void>(rung(qp));
    static_cast<void>(nic_.wakeups());
    EXPECT_EQ(post_one_send(qp, 1), 0);
    EXPECT_EQ(nic_.wakeups(), 0u);
    EXPECT_TRUE(rung(qp));
    nic_.status().worker[0].sleeping = 1;
    EXPECT_EQ(post_one_send(qp, 2), 0);
    EXPECT_EQ(post_one_send(qp, 3), 0);
    EXPECT_EQ(nic_.wakeups(), 1u) << "the second bit was set already";
}

TEST_F(Post, ResetStartsTheRingsAgain) {
    ibv_qp* qp = this->qp(IBV_QPS_RTS, 3, 3);
    for (std::uint64_t id = 0; id < 3; ++id) EXPECT_EQ(post_one_send(qp, id), 0);
    nic_.complete_send(fake(qp), 0);  // never polled
    ASSERT_EQ(move_to(qp, IBV_QPS_RESET), 0);
    EXPECT_EQ(fake(qp).control()->sq_producer, 0u);
    EXPECT_TRUE(poll().empty()) << "a completion of the life before RESET";
    ASSERT_EQ(move_to(qp, IBV_QPS_RTS), 0);
    for (std::uint64_t id = 10; id < 13; ++id) EXPECT_EQ(post_one_send(qp, id), 0);
    EXPECT_EQ(fake(qp).send_wqe(0)->wr_id, 10u);
    nic_.complete_send(fake(qp), 0);
    ASSERT_EQ(poll().size(), 1u);
    EXPECT_EQ(post_one_send(qp, 13), 0);
}

TEST_F(Post, DestructionTakesItsCompletionsAlong) {
    ibv_qp* doomed = make_qp(cq_, 4, 4, IBV_QPS_RTS);
    ibv_qp* other = this->qp(IBV_QPS_RTS);
    EXPECT_EQ(post_one_send(doomed, 1), 0);
    EXPECT_EQ(post_one_send(other, 2), 0);
    nic_.complete_send(fake(doomed), 0);
    nic_.complete_send(fake(other), 0);
    EXPECT_EQ(destroy_qp(doomed), 0);
    const auto wc = poll();
    ASSERT_EQ(wc.size(), 1u);
    EXPECT_EQ(wc[0].wr_id, 2u);
}

TEST_F(Post, BuildsWithTheExtendedInterface) {
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = cq_;
    attr.cap = {2, 1, 2, 1, 32};
    attr.qp_type = IBV_QPT_RC;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.pd = pd_;
    attr.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
    EXPECT_EQ(create_qp_ex(verbs(), &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
    ibv_qp* qp = create_qp_ex(verbs(), &attr);
    ASSERT_NE(qp, nullptr);
    qps_.push_back(qp);
    ibv_qp_ex* ex = ibv_qp_to_qp_ex(qp);
    ASSERT_NE(ex, nullptr);
    EXPECT_EQ(ex->wr_rdma_read, nullptr);

    ibv_wr_start(ex);
    ibv_wr_send(ex);
    EXPECT_EQ(ibv_wr_complete(ex), EINVAL) << "in RESET";

    ASSERT_EQ(move_to(qp, IBV_QPS_RTS), 0);
    char data[] = "inline";
    ibv_wr_start(ex);
    ex->wr_id = 5;
    ex->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(ex, 9, 0x4000);
    ibv_wr_set_sge(ex, 3, 0x1000, 10);
    ex->wr_id = 6;
    ibv_wr_send(ex);
    ibv_wr_set_inline_data(ex, data, 6);
    EXPECT_EQ(fake(qp).control()->sq_producer, 0u);
    EXPECT_EQ(ibv_wr_complete(ex), 0);
    EXPECT_EQ(fake(qp).control()->sq_producer, 2u);
    EXPECT_EQ(fake(qp).send_wqe(0)->rkey, 9u);
    EXPECT_EQ(fake(qp).send_wqe(0)->sge_count, 1);
    EXPECT_EQ(fake(qp).send_wqe(1)->inline_bytes, 6u);
    EXPECT_EQ(fake(qp).send_wqe(1)->flags, VROCE_SEND_SIGNALED | VROCE_SEND_INLINE);

    ibv_wr_start(ex);
    ibv_wr_send(ex);
    EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);
    ibv_wr_start(ex);
    ibv_wr_abort(ex);
    EXPECT_EQ(fake(qp).control()->sq_producer, 2u);
}

}  // namespace
}  // namespace vroce::provider::test
