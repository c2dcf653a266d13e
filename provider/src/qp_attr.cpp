#include "provider/src/qp_attr.hpp"

#include <cstring>

namespace vroce::provider {
namespace {

void address_to_abi(const ibv_ah_attr& from, vroce_qp_attr& to) {
    to.ah_is_global = from.is_global;
    to.ah_sl = from.sl;
    to.ah_port_num = from.port_num;
    to.ah_static_rate = from.static_rate;
    if (from.is_global == 0) return;
    to.grh_sgid_index = from.grh.sgid_index;
    to.grh_hop_limit = from.grh.hop_limit;
    to.grh_traffic_class = from.grh.traffic_class;
    to.grh_flow_label = from.grh.flow_label;
    std::memcpy(to.grh_dgid, from.grh.dgid.raw, sizeof to.grh_dgid);
}

ibv_ah_attr address_to_verbs(const vroce_qp_attr& from) {
    ibv_ah_attr to{};
    to.is_global = from.ah_is_global;
    to.sl = from.ah_sl;
    to.port_num = from.ah_port_num;
    to.static_rate = from.ah_static_rate;
    to.grh.sgid_index = from.grh_sgid_index;
    to.grh.hop_limit = from.grh_hop_limit;
    to.grh.traffic_class = from.grh_traffic_class;
    to.grh.flow_label = from.grh_flow_label;
    std::memcpy(to.grh.dgid.raw, from.grh_dgid, sizeof to.grh.dgid.raw);
    return to;
}

}  // namespace

vroce_qp_attr to_abi(const ibv_qp_attr& attr, int attr_mask) {
    vroce_qp_attr a{};
    const auto asked = [attr_mask](int bit) { return (attr_mask & bit) != 0; };
    if (asked(IBV_QP_STATE)) a.qp_state = attr.qp_state;
    if (asked(IBV_QP_CUR_STATE)) a.cur_qp_state = attr.cur_qp_state;
    if (asked(IBV_QP_PATH_MTU)) a.path_mtu = attr.path_mtu;
    if (asked(IBV_QP_PATH_MIG_STATE)) a.path_mig_state = attr.path_mig_state;
    if (asked(IBV_QP_QKEY)) a.qkey = attr.qkey;
    if (asked(IBV_QP_RQ_PSN)) a.rq_psn = attr.rq_psn;
    if (asked(IBV_QP_SQ_PSN)) a.sq_psn = attr.sq_psn;
    if (asked(IBV_QP_DEST_QPN)) a.dest_qp_num = attr.dest_qp_num;
    if (asked(IBV_QP_ACCESS_FLAGS)) a.qp_access_flags = attr.qp_access_flags;
    if (asked(IBV_QP_RATE_LIMIT)) a.rate_limit = attr.rate_limit;
    if (asked(IBV_QP_PKEY_INDEX)) a.pkey_index = attr.pkey_index;
    if (asked(IBV_QP_EN_SQD_ASYNC_NOTIFY)) a.en_sqd_async_notify = attr.en_sqd_async_notify;
    if (asked(IBV_QP_MAX_QP_RD_ATOMIC)) a.max_rd_atomic = attr.max_rd_atomic;
    if (asked(IBV_QP_MAX_DEST_RD_ATOMIC)) a.max_dest_rd_atomic = attr.max_dest_rd_atomic;
    if (asked(IBV_QP_MIN_RNR_TIMER)) a.min_rnr_timer = attr.min_rnr_timer;
    if (asked(IBV_QP_PORT)) a.port_num = attr.port_num;
    if (asked(IBV_QP_TIMEOUT)) a.timeout = attr.timeout;
    if (asked(IBV_QP_RETRY_CNT)) a.retry_cnt = attr.retry_cnt;
    if (asked(IBV_QP_RNR_RETRY)) a.rnr_retry = attr.rnr_retry;
    if (asked(IBV_QP_AV)) address_to_abi(attr.ah_attr, a);
    return a;
}

ibv_qp_attr to_verbs(const vroce_qp_attr& a) {
    ibv_qp_attr attr{};
    attr.qp_state = static_cast<ibv_qp_state>(a.qp_state);
    attr.cur_qp_state = static_cast<ibv_qp_state>(a.cur_qp_state);
    attr.path_mtu = static_cast<ibv_mtu>(a.path_mtu);
    attr.path_mig_state = static_cast<ibv_mig_state>(a.path_mig_state);
    attr.qkey = a.qkey;
    attr.rq_psn = a.rq_psn;
    attr.sq_psn = a.sq_psn;
    attr.dest_qp_num = a.dest_qp_num;
    attr.qp_access_flags = a.qp_access_flags;
    attr.rate_limit = a.rate_limit;
    attr.pkey_index = a.pkey_index;
    attr.en_sqd_async_notify = a.en_sqd_async_notify;
    attr.sq_draining = a.sq_draining;
    attr.max_rd_atomic = a.max_rd_atomic;
    attr.max_dest_rd_atomic = a.max_dest_rd_atomic;
    attr.min_rnr_timer = a.min_rnr_timer;
    attr.port_num = a.port_num;
    attr.timeout = a.timeout;
    attr.retry_cnt = a.retry_cnt;
    attr.rnr_retry = a.rnr_retry;
    attr.ah_attr = address_to_verbs(a);
    return attr;
}

}  // namespace vroce::provider
