// The receiving half of an RC queue pair: decides about requests, executes them, and tells the ReplySender what to
// answer.
#pragma once

#include <cstdint>

#include "nic/transport/qp_context.hpp"
#include "nic/transport/reply_sender.hpp"
#include "nic/transport/request_checks.hpp"
#include "nic/wire/frame.hpp"

namespace vroce::nic {

class Responder {
public:
    Responder(QpContext& qp, ReplySender& replies) : qp_(qp), replies_(replies) {}

    void reset();
    void start(Psn psn);

    enum class Handled : std::uint8_t { Done, CopyPending };
    /// CopyPending: payload is being landed; the caller keeps the frame until it calls copied() with it.
    Handled on_request(const RoceFrame& frame);
    void copied(const RoceFrame& frame, bool ok);
    /// Completes the receive in use and all posted ones as flushed.
    void flush();

    [[nodiscard]] Psn expected() const { return expected_; }

private:
    void on_duplicate(const RoceFrame& frame);
    void on_gap();
    Verdict check(const RoceFrame& frame);
    Verdict check_write(const RoceFrame& frame);
    Verdict check_read(const RoceFrame& frame);
    Verdict check_remote(const Reth& reth, std::uint32_t access);
    Verdict take_receive();
    void refuse(Verdict verdict);
    Handled execute(const RoceFrame& frame);
    CopyResult land(const RoceFrame& frame);
    void accept_read(const RoceFrame& frame);
    void finish_message(const RoceFrame& frame);
    void complete_receive(const Completion& completion);

    QpContext& qp_;
    ReplySender& replies_;
    Psn expected_;
    Psn last_executed_;  ///< the SEND or WRITE packet that an acknowledgement of a duplicate names (C9-105)
    std::uint32_t msn_ = 0;
    Assembly assembly_;
    RecvWqe receive_;
    std::uint32_t receive_index_ = 0;
    bool has_receive_ = false;  ///< receive_ is taken from the ring and not completed
    bool silenced_ = false;     ///< a sequence or RNR NAK was given; the next in-order packet re-arms it
};

}  // namespace vroce::nic
