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

    [[nodiscard]] Taken on_request(const RoceFrame& frame);
    /// Copies what was gathered to where it belongs; landed() must be called when that has ended.
    [[nodiscard]] CopyResult land();
    void landed(bool ok);
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
    Taken execute(const RoceFrame& frame);
    Taken gather(const RoceFrame& frame);
    void accept_read(const RoceFrame& frame);
    void finish_message();
    void complete_receive(const Completion& completion);

    /// What the last frame of those gathered asks for.
    struct Closing {
        bool ends_message = false;
        bool ack_request = false;
        bool with_imm = false;
        bool solicited = false;
        std::uint32_t imm = 0;
    };

    QpContext& qp_;
    ReplySender& replies_;
    Psn expected_;       ///< behind what is gathered
    Psn last_executed_;  ///< the SEND or WRITE packet that an acknowledgement of a duplicate names (C9-105)
    std::uint32_t msn_ = 0;
    Assembly assembly_;  ///< with what is gathered
    Closing closing_;
    RecvWqe receive_;
    std::uint32_t receive_index_ = 0;
    bool has_receive_ = false;  ///< receive_ is taken from the ring and not completed
    bool silenced_ = false;     ///< a sequence or RNR NAK was given; the next in-order packet re-arms it
};

}  // namespace vroce::nic
