// What the RoCE engine counts: one enumerator per event, one label beside it, one increment site per reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vroce::nic {

enum class EngineCounter : std::uint8_t {
    // received frames
    RxPackets,
    RxBytes,
    RxRequests,
    RxResponses,
    RxCnp,
    // received and dropped without an answer
    RxDropMalformed,
    RxDropFragment,
    RxDropIcrc,
    RxDropTransportVersion,
    RxDropOpcode,
    RxDropNoQp,
    RxDropQpState,
    RxDropPkey,
    RxDropGid,
    RxDropBacklogFull,
    RxDropOutOfSequence,
    RxDropGhostAck,
    RxDropStaleResponse,
    RxDropDuplicateRead,
    RxDropWhileInError,
    // responder
    RxDuplicateRequests,
    RxSequenceGaps,
    RxNoReceive,
    NakBadSequence,
    NakNotEnabled,
    NakUnsupported,
    NakTooManyReads,
    NakBadLength,
    NakReceiveTooShort,
    NakBadReceiveWqe,
    NakReceiveFault,
    NakBadKey,
    NakWrongPd,
    NakOutOfBounds,
    NakNoPermission,
    NakRemoteFault,
    NakUnanswerable,
    ReadReplayFaults,
    // requester
    RxAcks,
    RxNakSequence,
    RxNakRnr,
    RxNakFatal,
    ImpliedNaks,
    AckTimeouts,
    Retransmits,
    RetryExceeded,
    RnrRetryExceeded,
    BadResponses,
    LocalFaults,
    BadSendWqes,
    // transmitted frames
    TxPackets,
    TxBytes,
    TxRequests,
    TxReadResponses,
    TxAcks,
    TxNaks,
    TxNoPacket,
    TxOversize,
    TxPortWindowFull,
    TxQpWindowFull,
    PortChargeExpired,
    // queue pairs
    CopiesPending,
    CopiesAbandoned,
    CompletionQueueFull,
    QpErrors,
    Count,
};
constexpr std::size_t kEngineCounterCount = static_cast<std::size_t>(EngineCounter::Count);

constexpr std::array kEngineCounterLabels = std::to_array<std::string_view>({
    "rx_packets",
    "rx_bytes",
    "rx_requests",
    "rx_responses",
    "rx_cnp",
    "rx_drop_malformed",
    "rx_drop_fragment",
    "rx_drop_icrc",
    "rx_drop_transport_version",
    "rx_drop_opcode",
    "rx_drop_no_qp",
    "rx_drop_qp_state",
    "rx_drop_pkey",
    "rx_drop_gid",
    "rx_drop_backlog_full",
    "rx_drop_out_of_sequence",
    "rx_drop_ghost_ack",
    "rx_drop_stale_response",
    "rx_drop_duplicate_read",
    "rx_drop_while_in_error",
    "rx_duplicate_requests",
    "rx_sequence_gaps",
    "rx_no_receive",
    "nak_bad_sequence",
    "nak_not_enabled",
    "nak_unsupported",
    "nak_too_many_reads",
    "nak_bad_length",
    "nak_receive_too_short",
    "nak_bad_receive_wqe",
    "nak_receive_fault",
    "nak_bad_key",
    "nak_wrong_pd",
    "nak_out_of_bounds",
    "nak_no_permission",
    "nak_remote_fault",
    "nak_unanswerable",
    "read_replay_faults",
    "rx_acks",
    "rx_nak_sequence",
    "rx_nak_rnr",
    "rx_nak_fatal",
    "implied_naks",
    "ack_timeouts",
    "retransmits",
    "retry_exceeded",
    "rnr_retry_exceeded",
    "bad_responses",
    "local_faults",
    "bad_send_wqes",
    "tx_packets",
    "tx_bytes",
    "tx_requests",
    "tx_read_responses",
    "tx_acks",
    "tx_naks",
    "tx_no_packet",
    "tx_oversize",
    "tx_port_window_full",
    "tx_qp_window_full",
    "port_charge_expired",
    "copies_pending",
    "copies_abandoned",
    "completion_queue_full",
    "qp_errors",
});
static_assert(kEngineCounterLabels.size() == kEngineCounterCount, "each counter has its label, in the same order");

/// Read by anyone (values only grow), written by the engine's worker.
struct EngineCounters {
    std::array<std::uint64_t, kEngineCounterCount> values{};

    void add(EngineCounter counter, std::uint64_t n = 1) { values[static_cast<std::size_t>(counter)] += n; }
    [[nodiscard]] std::uint64_t operator[](EngineCounter counter) const {
        return values[static_cast<std::size_t>(counter)];
    }
};

constexpr std::string_view label(EngineCounter counter) {
    return kEngineCounterLabels[static_cast<std::size_t>(counter)];
}

}  // namespace vroce::nic
