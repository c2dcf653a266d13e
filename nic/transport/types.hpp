// The transport's vocabulary: what a queue pair is told, asked and answers. Values that verbs programs see are
// numerically those of libibverbs, so that no table translates them.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/time.hpp"
#include "nic/wire/address.hpp"  // MacAddress, Gid, AddressVector

namespace vroce::nic {

/// IBTA 11.2.4 / enum ibv_qp_state.
enum class QpState : std::uint8_t { Reset = 0, Init = 1, Rtr = 2, Rts = 3, Sqd = 4, Sqe = 5, Err = 6 };

/// enum ibv_wr_opcode.
enum class WrOpcode : std::uint8_t { Write = 0, WriteImm = 1, Send = 2, SendImm = 3, Read = 4 };

/// enum ibv_send_flags.
enum SendFlags : std::uint8_t { kSendFence = 1, kSendSignaled = 2, kSendSolicited = 4, kSendInline = 8 };

/// enum ibv_access_flags.
enum AccessFlags : std::uint32_t {
    kAccessLocalWrite = 1,
    kAccessRemoteWrite = 2,
    kAccessRemoteRead = 4,
    kAccessRemoteAtomic = 8,
};

/// enum ibv_wc_status, the ones that this transport gives.
enum class WcStatus : std::uint8_t {
    Success = 0,
    LocLenErr = 1,
    LocQpOpErr = 2,
    LocProtErr = 4,
    WrFlushErr = 5,
    BadRespErr = 7,
    RemInvReqErr = 9,
    RemAccessErr = 10,
    RemOpErr = 11,
    RetryExcErr = 12,
    RnrRetryExcErr = 13,
    FatalErr = 19,
    GeneralErr = 21,
};

/// enum ibv_wc_opcode.
enum class WcOpcode : std::uint8_t { Send = 0, RdmaWrite = 1, RdmaRead = 2, Recv = 128, RecvRdmaWithImm = 129 };

/// enum ibv_event_type, the ones about a queue pair or its queues.
enum class AsyncEventType : std::uint32_t {
    CqErr = 0,
    QpFatal = 1,
    QpReqErr = 2,
    QpAccessErr = 3,
    CommEst = 4,
    SqDrained = 5,
    PortActive = 9,
    PortErr = 10,
    GidChange = 18,
    DeviceFatal = 8,
};

/// A send work request as the NIC copied it once out of the ring. Scatter entries and inline data stay in the ring and
/// are read (and checked again) when payload is gathered.
struct SendWqe {
    std::uint64_t wr_id = 0;
    std::uint64_t remote_addr = 0;
    std::uint64_t length = 0;  ///< bytes of payload in all, <= 2^31
    std::uint32_t rkey = 0;
    std::uint32_t imm = 0;    ///< passed unchanged
    std::uint32_t index = 0;  ///< ring index, free-running
    WrOpcode opcode = WrOpcode::Send;
    std::uint8_t flags = 0;  ///< SendFlags
    std::uint16_t sge_count = 0;
};

struct RecvWqe {
    std::uint64_t wr_id = 0;
    std::uint64_t length = 0;  ///< room in all, bytes
    std::uint32_t index = 0;
    std::uint32_t sge_count = 0;
};

/// What becomes a CQE.
struct Completion {
    std::uint64_t wr_id = 0;
    std::uint32_t wqe_index = 0;
    std::uint32_t byte_len = 0;
    std::uint32_t imm = 0;
    std::uint32_t vendor_err = 0;  ///< why, beyond the status; see VendorError of the transport
    WcStatus status = WcStatus::Success;
    WcOpcode opcode = WcOpcode::Send;
    bool with_imm = false;
    bool solicited = false;
    bool receive = false;  ///< goes to the receive CQ
};

/// Queue pair attributes of IBTA 11.2.5.2, validated by the device layer against the transition's table.
struct QpAttributes {
    AddressVector av;
    std::uint32_t destination_qpn = 0;
    std::uint32_t path_mtu_bytes = 1'024;
    std::uint32_t rq_psn = 0;
    std::uint32_t sq_psn = 0;
    std::uint32_t access = 0;  ///< AccessFlags
    std::uint16_t pkey = 0xFFFF;
    std::uint8_t max_rd_atomic = 0;       ///< READs we may have outstanding
    std::uint8_t max_dest_rd_atomic = 0;  ///< READs the peer may have outstanding here
    std::uint8_t min_rnr_timer = 0;       ///< code 0..31
    std::uint8_t timeout = 0;             ///< code 0..31, 0: never
    std::uint8_t retry_count = 0;         ///< 0..7, all finite
    std::uint8_t rnr_retry = 0;           ///< 0..6, 7: for ever
};

}  // namespace vroce::nic
