// Completion::vendor_err: why, beyond the status that verbs programs see.
#pragma once

#include <cstdint>

namespace vroce::nic {

enum class VendorError : std::uint32_t {
    None = 0,
    Flushed = 1,
    InvalidWqe = 2,       ///< the work request as it stood in the ring makes no sense
    NoReadResources = 3,  ///< a READ on a queue pair whose max_rd_atomic is 0
    GatherFault = 4,      ///< local memory of a request could not be read
    ScatterFault = 5,     ///< local memory for a READ's data or a receive could not be written
    AckTimeout = 6,       ///< retries used up by timeouts
    SequenceNak = 7,      ///< retries used up by sequence NAKs, or implied ones
    ReceiverNotReady = 8,
    RemoteNak = 9,
    ResponseMismatch = 10,  ///< a READ response of the wrong kind or size
    ReceiveTooShort = 11,
    FrameTooLarge = 12,  ///< path MTU beyond what the port carries
};

}  // namespace vroce::nic
