// What the plugin does in the NIC's place once the NIC process is gone: flushed completions for everything that was
// posted, and the events that waiting threads need to come and see them.
#pragma once

#include "provider/src/queues.hpp"

namespace vroce::provider {

/// Completes outstanding work of the CQ's QPs with WR_FLUSH_ERR, each once and in order; returns how many of `wc` were
/// filled. Caller holds the CQ's lock and has taken all that the NIC wrote.
int flush_outstanding(CompletionQueue& cq, int room, ibv_wc* wc);

/// Sends the completion event that the CQ is armed for.
void send_event_if_armed(CompletionQueue& cq);

/// The same when there is something to flush: for a CQ that was armed after the NIC's death.
void send_event_if_flushable(CompletionQueue& cq);

}  // namespace vroce::provider
