#include "provider/src/qp_attr.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace vroce::provider {
namespace {

constexpr int kAll = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ACCESS_FLAGS |
                     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT |
                     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC |
                     IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE |
                     IBV_QP_DEST_QPN | IBV_QP_RATE_LIMIT;

ibv_qp_attr distinct_attributes() {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.cur_qp_state = IBV_QPS_INIT;
    a.path_mtu = IBV_MTU_2048;
    a.path_mig_state = IBV_MIG_ARMED;
    a.qkey = 4;
    a.rq_psn = 5;
    a.sq_psn = 6;
    a.dest_qp_num = 7;
    a.qp_access_flags = 8;
    a.rate_limit = 9;
    a.pkey_index = 10;
    a.en_sqd_async_notify = 1;
    a.max_rd_atomic = 12;
    a.max_dest_rd_atomic = 13;
    a.min_rnr_timer = 14;
    a.port_num = 15;
    a.timeout = 16;
    a.retry_cnt = 17;
    a.rnr_retry = 18;
    a.ah_attr.is_global = 1;
    a.ah_attr.sl = 19;
    a.ah_attr.port_num = 20;
    a.ah_attr.static_rate = 21;
    a.ah_attr.grh.sgid_index = 22;
    a.ah_attr.grh.hop_limit = 23;
    a.ah_attr.grh.traffic_class = 24;
    a.ah_attr.grh.flow_label = 25;
    a.ah_attr.grh.dgid.raw[0] = 26;
    a.ah_attr.grh.dgid.raw[15] = 27;
    return a;
}

TEST(QpAttr, ComesBackAsItWent) {
    const ibv_qp_attr there = distinct_attributes();
    const ibv_qp_attr back = to_verbs(to_abi(there, kAll));
    EXPECT_EQ(std::memcmp(&there.ah_attr, &back.ah_attr, sizeof there.ah_attr), 0);
    EXPECT_EQ(back.qp_state, there.qp_state);
    EXPECT_EQ(back.cur_qp_state, there.cur_qp_state);
    EXPECT_EQ(back.path_mtu, there.path_mtu);
    EXPECT_EQ(back.path_mig_state, there.path_mig_state);
    EXPECT_EQ(back.qkey, there.qkey);
    EXPECT_EQ(back.rq_psn, there.rq_psn);
    EXPECT_EQ(back.sq_psn, there.sq_psn);
    EXPECT_EQ(back.dest_qp_num, there.dest_qp_num);
    EXPECT_EQ(back.qp_access_flags, there.qp_access_flags);
    EXPECT_EQ(back.rate_limit, there.rate_limit);
    EXPECT_EQ(back.pkey_index, there.pkey_index);
    EXPECT_EQ(back.en_sqd_async_notify, there.en_sqd_async_notify);
    EXPECT_EQ(back.max_rd_atomic, there.max_rd_atomic);
    EXPECT_EQ(back.max_dest_rd_atomic, there.max_dest_rd_atomic);
    EXPECT_EQ(back.min_rnr_timer, there.min_rnr_timer);
    EXPECT_EQ(back.port_num, there.port_num);
    EXPECT_EQ(back.timeout, there.timeout);
    EXPECT_EQ(back.retry_cnt, there.retry_cnt);
    EXPECT_EQ(back.rnr_retry, there.rnr_retry);
}

TEST(QpAttr, ReadsOnlyWhatTheMaskNames) {
    const vroce_qp_attr a = to_abi(distinct_attributes(), IBV_QP_STATE);
    vroce_qp_attr expected{};
    expected.qp_state = IBV_QPS_RTR;
    EXPECT_EQ(std::memcmp(&a, &expected, sizeof a), 0);
}

}  // namespace
}  // namespace vroce::provider
