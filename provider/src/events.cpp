// What async events tell the plugin itself.
#include "provider/src/context.hpp"
#include "provider/src/verbs.hpp"

namespace vroce::provider {

// Called when the application reads the event. A QP in error flushes receives, but only the doorbell tells the NIC of
// them.
void async_event(ibv_context*, ibv_async_event* event) {
    switch (event->event_type) {
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR: {
            QueuePair& qp = queue_pair(event->element.qp);
            qp.error_seen.store(true);
            if (qp.context->usable() && !qp.context->dead()) ring_doorbell(qp.context->doorbell, qp.slot);
            return;
        }
        case IBV_EVENT_CQ_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_DEVICE_FATAL:
        case IBV_EVENT_PORT_ACTIVE:
        case IBV_EVENT_PORT_ERR:
        case IBV_EVENT_LID_CHANGE:
        case IBV_EVENT_PKEY_CHANGE:
        case IBV_EVENT_SM_CHANGE:
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED:
        case IBV_EVENT_QP_LAST_WQE_REACHED:
        case IBV_EVENT_CLIENT_REREGISTER:
        case IBV_EVENT_GID_CHANGE:
        case IBV_EVENT_WQ_FATAL:
            return;
    }
}

}  // namespace vroce::provider
