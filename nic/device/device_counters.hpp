// What a device counts: one enumerator per event, one label beside it, one increment site per reason.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/counters/counter_set.hpp"

namespace vroce::nic {

enum class DeviceCounter : std::uint8_t {
    // doorbells
    DoorbellsTaken,
    DoorbellsStray,    ///< bits of no queue pair
    DoorbellScansCut,  ///< more was rung than one scan takes
    // what an application wrote into its rings
    BadSendWqes,
    BadRecvWqes,
    RingOverruns,  ///< a producer claims more than the ring holds; also counted as a bad WQE
    // local keys of scatter entries
    LocalKeyUnknown,
    LocalKeyWrongPd,
    LocalKeyOutOfBounds,
    LocalKeyNoPermission,
    ListsShortened,  ///< a scatter list changed after its WQE was fetched
    RemoteKeyStale,  ///< checked when the request came, gone when the bytes were moved
    // application memory
    CopyFaults,       ///< nothing mapped there, or the process is gone
    MappingsRetired,  ///< shared memory truncated under a mapping
    CopiesStuck,      ///< times that a session's memory did not answer within the limit
    // completions and events
    Completions,
    CompletionQueueOverflows,
    CompletionEvents,
    AsyncEvents,
    // requests refused
    RefusedHandle,
    RefusedArgument,
    RefusedTransition,
    RefusedBusy,
    RefusedFull,
    Count,
};

constexpr std::array kDeviceCounterLabels = std::to_array<std::string_view>({
    "doorbells_taken",
    "doorbells_stray",
    "doorbell_scans_cut",
    "bad_send_wqes",
    "bad_recv_wqes",
    "ring_overruns",
    "local_key_unknown",
    "local_key_wrong_pd",
    "local_key_out_of_bounds",
    "local_key_no_permission",
    "lists_shortened",
    "remote_key_stale",
    "copy_faults",
    "mappings_retired",
    "copies_stuck",
    "completions",
    "completion_queue_overflows",
    "completion_events",
    "async_events",
    "refused_handle",
    "refused_argument",
    "refused_transition",
    "refused_busy",
    "refused_full",
});
static_assert(kDeviceCounterLabels.size() == static_cast<std::size_t>(DeviceCounter::Count),
              "each counter has its label, in the same order");

constexpr std::string_view label(DeviceCounter counter) {
    return kDeviceCounterLabels[static_cast<std::size_t>(counter)];
}

/// The worker's.
using DeviceCounters = CounterSet<DeviceCounter>;

}  // namespace vroce::nic
