// The list of stages, and nothing else. The place in brackets belongs to routing.
#include "switch/pipeline/pipeline.hpp"

#include "switch/pipeline/classify.hpp"
#include "switch/pipeline/classify_priority.hpp"
#include "switch/pipeline/enqueue.hpp"
#include "switch/pipeline/learn.hpp"
#include "switch/pipeline/link_local.hpp"
#include "switch/pipeline/lookup.hpp"
#include "switch/pipeline/mac_control.hpp"
#include "switch/pipeline/mtu.hpp"
#include "switch/pipeline/parse.hpp"
#include "switch/pipeline/remark.hpp"
#include "switch/pipeline/replicate.hpp"
#include "switch/pipeline/retag.hpp"

namespace vroce::sw {

void run_pipeline(Burst& burst, Departures& departures, const PipelineTables& tables) {
    const PortQosConfig& qos = tables.config.ports[burst.in_port()].qos;

    // Ingress half: one entry a frame.
    parse(burst);
    mac_control(burst, tables.ports[burst.in_port()].flow_control);
    link_local(burst);
    classify(burst, tables.config.vlans);
    classify_priority(burst, qos, tables.config.pfc_in_use);
    learn(burst, tables.fdb);
    // [route: frames to the switch's own address]
    lookup(burst, tables.fdb, tables.config.vlans, tables.usable, qos.flow_control.pfc_enable);

    // Egress half: one entry a copy.
    replicate(burst, departures, tables.ports);
    mtu(departures, tables.config.ports, tables.ports);
    retag(departures, tables.config.vlans, tables.ports);
    remark(departures, tables.config);
    admit_and_enqueue(departures, tables.buffers, tables.random, tables.ports);
}

}  // namespace vroce::sw
