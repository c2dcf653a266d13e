// DSCP 26 in class 3, lossless and ECN-marked; CNPs with DSCP 48 in class 6, before everything; the rest by DSCP / 8.
#include "switch/config/roce_preset.hpp"

#include "switch/config/qos_maps.hpp"

namespace vroce::sw {
namespace {

constexpr unsigned kBestEffort = 0;
constexpr unsigned kRoce = 3;
constexpr unsigned kCnp = 6;

}  // namespace

PortQosConfig roce_preset(bool pfc) {
    PortQosConfig qos;
    qos.ingress.trust = Trust::kDscpThenPcp;
    qos.ingress.pcp_to_tc = identity_map<kPcps>();
    qos.ingress.dscp_to_tc = class_selectors();  // 26 is in 3, 48 in 6
    if (pfc) qos.flow_control.pfc_enable = 1U << kRoce;
    // The others share what these two leave idle: weight 1 each.
    qos.queues[kBestEffort].scheduler.weight = 50;
    qos.queues[kRoce].scheduler.weight = 50;
    qos.queues[kCnp].scheduler.type = SchedulerType::kStrict;
    WredConfig& wred = qos.queues[kRoce].wred;
    wred.ecn = true;
    wred.min_bytes = 150'000;
    wred.max_bytes = 1'500'000;
    wred.probability_percent = 100;
    return qos;
}

}  // namespace vroce::sw
