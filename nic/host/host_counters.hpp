// What the session side counts: everything that is refused, held or ended has a name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/counters/counter_set.hpp"

namespace vroce::nic {

enum class HostCounter : std::uint8_t {
    SessionsOpened,
    SessionsClosed,
    SessionsDied,  ///< of these: the process was gone before its connection
    RefusedTooManySessions,
    RefusedNoDescriptors,
    RefusedVersion,
    RefusedNotGreeted,  ///< a request before HELLO
    RefusedLength,
    RefusedMessage,        ///< unknown
    RefusedDescriptors,    ///< missing, too many, or of the wrong kind
    RefusedHandle,         ///< not an object of this context
    DroppedUnreadReplies,  ///< the peer does not read its replies
    DroppedMalformed,      ///< not even a request header
    EventsWritten,
    EventsHeld,
    EventsMerged,
    EventsNoReader,
    ResolvesAsked,
    ResolvesFailed,
    ResolvesTimedOut,
    MrsMapped,  ///< memory shared by descriptor
    MrsHanded,  ///< memory reached by system call
    Count,
};

constexpr std::array kHostCounterLabels = std::to_array<std::string_view>({
    "sessions_opened",
    "sessions_closed",
    "sessions_died",
    "refused_too_many_sessions",
    "refused_no_descriptors",
    "refused_version",
    "refused_not_greeted",
    "refused_length",
    "refused_message",
    "refused_descriptors",
    "refused_handle",
    "dropped_unread_replies",
    "dropped_malformed",
    "events_written",
    "events_held",
    "events_merged",
    "events_no_reader",
    "resolves_asked",
    "resolves_failed",
    "resolves_timed_out",
    "mrs_mapped",
    "mrs_handed",
});
static_assert(kHostCounterLabels.size() == static_cast<std::size_t>(HostCounter::Count),
              "each counter has its label, in the same order");

constexpr std::string_view label(HostCounter counter) {
    return kHostCounterLabels[static_cast<std::size_t>(counter)];
}

/// The event counters are the worker's, the others the control thread's.
using HostCounters = CounterSet<HostCounter>;

}  // namespace vroce::nic
