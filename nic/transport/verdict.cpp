// The table of IBTA 9.9.3 (responder errors, table 58 of older releases), one row for each verdict.
#include "nic/transport/verdict.hpp"

#include <array>
#include <cstddef>

#include "nic/wire/headers.hpp"

namespace vroce::nic {
namespace {

using enum EngineCounter;
constexpr std::optional<WcStatus> kNoCompletion{};
constexpr std::optional<AsyncEventType> kNoEvent{};
constexpr auto kReq = std::optional{AsyncEventType::QpReqErr};
constexpr auto kAccess = std::optional{AsyncEventType::QpAccessErr};

struct Row {
    Verdict verdict;
    Consequence consequence;
};

constexpr std::array kTable = {
    // 9.7.5.2.8: retried after the timer; nothing else happens
    Row{Verdict::NoReceive, {kSyndromeKindRnr, kNoCompletion, kNoEvent, false, RxNoReceive}},
    // class C, 9.7.4.1.4, C9-79 ff.: opcode sequence
    Row{Verdict::BadSequence, {kNakInvalidRequest, kNoCompletion, kReq, true, NakBadSequence}},
    // class C, 9.7.4.1.2: an RDMA request to a queue pair that is not set up for it
    Row{Verdict::NotEnabled, {kNakInvalidRequest, kNoCompletion, kReq, true, NakNotEnabled}},
    Row{Verdict::Unsupported, {kNakInvalidRequest, kNoCompletion, kReq, true, NakUnsupported}},
    // 9.7.4.1.5: READ and atomic resources
    Row{Verdict::TooManyReads, {kNakInvalidRequest, kNoCompletion, kReq, true, NakTooManyReads}},
    // class C, 9.7.4.1.6: length rules
    Row{Verdict::BadLength, {kNakInvalidRequest, kNoCompletion, kReq, true, NakBadLength}},
    // class D, 9.7.4.1.6: the receive buffer is too small; the receive itself tells
    Row{Verdict::ReceiveTooShort, {kNakInvalidRequest, WcStatus::LocLenErr, kNoEvent, true, NakReceiveTooShort}},
    // class A, 9.7.5.2.4: the responder's own receive work request is bad
    Row{Verdict::BadReceiveWqe, {kNakRemoteOperation, WcStatus::LocQpOpErr, kNoEvent, true, NakBadReceiveWqe}},
    Row{Verdict::ReceiveFault, {kNakRemoteOperation, WcStatus::LocProtErr, kNoEvent, true, NakReceiveFault}},
    // class C, 9.7.5.2.4: remote access errors
    Row{Verdict::BadKey, {kNakRemoteAccess, kNoCompletion, kAccess, true, NakBadKey}},
    Row{Verdict::WrongPd, {kNakRemoteAccess, kNoCompletion, kAccess, true, NakWrongPd}},
    Row{Verdict::OutOfBounds, {kNakRemoteAccess, kNoCompletion, kAccess, true, NakOutOfBounds}},
    Row{Verdict::NoPermission, {kNakRemoteAccess, kNoCompletion, kAccess, true, NakNoPermission}},
    Row{Verdict::RemoteFault, {kNakRemoteAccess, kNoCompletion, kAccess, true, NakRemoteFault}},
    // class A: the path MTU that was agreed upon is not ours to keep
    Row{Verdict::Unanswerable, {kNakRemoteOperation, kNoCompletion, kReq, true, NakUnanswerable}},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < kTable.size(); ++i)
        if (static_cast<std::size_t>(kTable[i].verdict) != i + 1) return false;
    return kTable.size() == static_cast<std::size_t>(Verdict::Unanswerable);
}
static_assert(in_order(), "one row for each verdict after Execute, in the enum's order");

}  // namespace

const Consequence& consequence(Verdict verdict) {
    return kTable[static_cast<std::size_t>(verdict) - 1].consequence;
}

}  // namespace vroce::nic
