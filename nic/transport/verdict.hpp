// What the responder thinks of a request, and the one table of what follows from it.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/transport/engine_counters.hpp"
#include "nic/transport/types.hpp"

namespace vroce::nic {

enum class Verdict : std::uint8_t {
    Execute,
    NoReceive,        ///< no receive work request is posted
    BadSequence,      ///< e.g. MIDDLE without FIRST
    NotEnabled,       ///< the queue pair does not allow this kind of remote access
    Unsupported,      ///< an opcode that this responder does not execute
    TooManyReads,     ///< more than max_dest_rd_atomic outstanding
    BadLength,        ///< packet or message length breaks the rules of 9.7.4.1.6
    ReceiveTooShort,  ///< the message is longer than the receive buffer
    BadReceiveWqe,
    ReceiveFault,  ///< local memory of the receive could not be written
    BadKey,
    WrongPd,
    OutOfBounds,
    NoPermission,
    RemoteFault,   ///< memory behind a valid key is gone
    Unanswerable,  ///< a READ whose response packets our port cannot carry
};

struct Consequence {
    std::uint8_t syndrome;               ///< of the NAK; RNR takes the timer code of the queue pair
    std::optional<WcStatus> completion;  ///< of the receive work request in use
    std::optional<AsyncEventType> event;
    bool fatal;  ///< the queue pair goes to Err
    EngineCounter counter;
};

/// Precondition: the verdict is not Execute.
[[nodiscard]] const Consequence& consequence(Verdict verdict);

}  // namespace vroce::nic
