#include "nic/device/qp_parameters.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nic/device/limits.hpp"
#include "nic/device/qp_transitions.hpp"

namespace vroce::nic {

namespace {

constexpr std::uint32_t kMtu256 = 1;  // enum ibv_mtu
constexpr std::uint32_t kMtu4096 = 5;
constexpr std::uint32_t kPsnMax = 0xFFFFFF;
constexpr std::uint32_t kQpnMax = 0xFFFFFF;
constexpr std::uint32_t kQpAccess = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead | kAccessRemoteAtomic;

std::uint32_t mtu_bytes(std::uint32_t code) {
    return 128u << code;
}

bool path_is_usable(const vroce_qp_attr& attr) {
    // RoCE has no LIDs: a destination without a GID is nowhere.
    return attr.ah_is_global != 0 && (attr.ah_port_num <= 1) && attr.grh_flow_label <= 0xFFFFF;
}

}  // namespace

int check_qp_parameters(std::uint32_t mask, const vroce_qp_attr& attr, std::uint32_t path_mtu_max_bytes) {
    const auto given = [mask](std::uint32_t bit) { return (mask & bit) != 0; };
    const bool refused =
        (given(kAttrPkeyIndex) && attr.pkey_index != 0) || (given(kAttrPort) && attr.port_num != 1) ||
        (given(kAttrAccessFlags) && (attr.qp_access_flags & ~kQpAccess) != 0) ||
        (given(kAttrAv) && !path_is_usable(attr)) ||
        (given(kAttrPathMtu) &&
         (attr.path_mtu < kMtu256 || attr.path_mtu > kMtu4096 || mtu_bytes(attr.path_mtu) > path_mtu_max_bytes)) ||
        (given(kAttrDestQpn) && attr.dest_qp_num > kQpnMax) || (given(kAttrRqPsn) && attr.rq_psn > kPsnMax) ||
        (given(kAttrSqPsn) && attr.sq_psn > kPsnMax) || (given(kAttrTimeout) && attr.timeout > 31) ||
        (given(kAttrRetryCnt) && attr.retry_cnt > 7) || (given(kAttrRnrRetry) && attr.rnr_retry > 7) ||
        (given(kAttrMinRnrTimer) && attr.min_rnr_timer > 31) ||
        (given(kAttrMaxQpRdAtomic) && attr.max_rd_atomic > Limits::kRdAtomic) ||
        (given(kAttrMaxDestRdAtomic) && attr.max_dest_rd_atomic > Limits::kRdAtomic) ||
        (given(kAttrPathMigState) && attr.path_mig_state != 0);
    return refused ? EINVAL : 0;
}

void merge_qp_attributes(vroce_qp_attr& present, std::uint32_t mask, const vroce_qp_attr& attr) {
    const auto take = [&](std::uint32_t bit, auto member) {
        if ((mask & bit) != 0) present.*member = attr.*member;
    };
    take(kAttrPkeyIndex, &vroce_qp_attr::pkey_index);
    take(kAttrPort, &vroce_qp_attr::port_num);
    take(kAttrAccessFlags, &vroce_qp_attr::qp_access_flags);
    take(kAttrPathMtu, &vroce_qp_attr::path_mtu);
    take(kAttrDestQpn, &vroce_qp_attr::dest_qp_num);
    take(kAttrRqPsn, &vroce_qp_attr::rq_psn);
    take(kAttrSqPsn, &vroce_qp_attr::sq_psn);
    take(kAttrTimeout, &vroce_qp_attr::timeout);
    take(kAttrRetryCnt, &vroce_qp_attr::retry_cnt);
    take(kAttrRnrRetry, &vroce_qp_attr::rnr_retry);
    take(kAttrMinRnrTimer, &vroce_qp_attr::min_rnr_timer);
    take(kAttrMaxQpRdAtomic, &vroce_qp_attr::max_rd_atomic);
    take(kAttrMaxDestRdAtomic, &vroce_qp_attr::max_dest_rd_atomic);
    take(kAttrEnSqdAsyncNotify, &vroce_qp_attr::en_sqd_async_notify);
    for (const auto member : {&vroce_qp_attr::ah_is_global, &vroce_qp_attr::ah_sl, &vroce_qp_attr::ah_port_num,
                              &vroce_qp_attr::ah_static_rate, &vroce_qp_attr::grh_sgid_index,
                              &vroce_qp_attr::grh_hop_limit, &vroce_qp_attr::grh_traffic_class})
        take(kAttrAv, member);
    take(kAttrAv, &vroce_qp_attr::grh_flow_label);
    if ((mask & kAttrAv) != 0) std::memcpy(present.grh_dgid, attr.grh_dgid, sizeof present.grh_dgid);
}

std::uint16_t udp_source_port(std::uint32_t flow_label, std::uint32_t local_qpn, std::uint32_t remote_qpn) {
    std::uint32_t label = flow_label & 0xFFFFF;
    if (label == 0) {
        std::uint64_t product = std::uint64_t{local_qpn} * remote_qpn;
        product ^= product >> 20;
        product ^= product >> 40;
        label = static_cast<std::uint32_t>(product & 0xFFFFF);
    }
    return static_cast<std::uint16_t>(((label & 0x3FFF) ^ ((label & 0xFC000) >> 14)) | 0xC000);
}

QpAttributes transport_attributes(const vroce_qp_attr& attr, const ResolvedPath& path, std::uint32_t qpn) {
    QpAttributes out;
    out.av.source_mac = path.source_mac;
    out.av.destination_mac = path.destination_mac;
    out.av.source = path.source;
    out.av.vlan = path.vlan;
    std::copy(std::begin(attr.grh_dgid), std::end(attr.grh_dgid), out.av.destination.bytes.begin());
    // RoCE v2's service level is the VLAN priority; bit 3 is no priority (mlx5 puts the packet's type there).
    out.av.pcp = (attr.ah_sl & 8) != 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(attr.ah_sl & 7);
    out.av.traffic_class = attr.grh_traffic_class;
    // A hop limit of 0 or 1 would not pass a router; nobody means it (annex A17 leaves it to the sender).
    out.av.hop_limit = attr.grh_hop_limit > 1 ? attr.grh_hop_limit : std::uint8_t{64};
    out.av.udp_source_port = udp_source_port(attr.grh_flow_label, qpn, attr.dest_qp_num);
    out.destination_qpn = attr.dest_qp_num;
    out.path_mtu_bytes = attr.path_mtu == 0 ? 1'024 : mtu_bytes(attr.path_mtu);
    out.rq_psn = attr.rq_psn;
    out.sq_psn = attr.sq_psn;
    out.access = attr.qp_access_flags;
    out.max_rd_atomic = attr.max_rd_atomic;
    out.max_dest_rd_atomic = attr.max_dest_rd_atomic;
    out.min_rnr_timer = attr.min_rnr_timer;
    out.timeout = attr.timeout;
    out.retry_count = attr.retry_cnt;
    out.rnr_retry = attr.rnr_retry;
    return out;
}

}  // namespace vroce::nic
