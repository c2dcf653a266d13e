// What comes back to the requester: acknowledgements, NAKs, READ data, and silence.
#pragma once

#include "nic/transport/qp_context.hpp"
#include "nic/transport/requester.hpp"
#include "nic/transport/retry_state.hpp"
#include "nic/transport/send_queue.hpp"
#include "nic/wire/frame.hpp"

namespace vroce::nic {

class ResponseHandler {
public:
    ResponseHandler(QpContext& qp, Requester& requester, SendQueue& queue, RetryState& retry)
        : qp_(qp), requester_(requester), queue_(queue), retry_(retry) {}

    [[nodiscard]] Taken on_response(Instant now, const RoceFrame& frame);
    /// Copies the READ data that was gathered to where it belongs; landed() must be called when that has ended.
    [[nodiscard]] CopyResult land();
    void landed(Instant now, bool ok);
    /// The ACK timeout or the RNR wait is over. `receive_held` says that frames of this queue pair wait for a copy on
    /// our own side.
    void on_deadline(Instant now, bool receive_held);

private:
    void on_acknowledge(Instant now, const RoceFrame& frame);
    Taken on_read_response(Instant now, const RoceFrame& frame);
    [[nodiscard]] bool read_response_matches(const RoceFrame& frame) const;
    Taken gather(const RoceFrame& frame);
    [[nodiscard]] bool gathered_all() const;
    void on_rnr(Instant now, Psn psn, std::uint8_t timer_code);
    void on_sequence_nak(Instant now, Psn psn);
    void on_fatal_nak(Instant now, Psn psn, std::uint8_t syndrome);
    /// Acknowledges all before `to`; false when an unanswered READ lies before it.
    bool advance(Instant now, Psn to);
    void implied_nak(Psn seen);
    void retry(VendorError reason);
    void go_back();
    void progressed(Instant now);
    [[nodiscard]] bool may_go_back(Psn seen) const;

    QpContext& qp_;
    Requester& requester_;
    SendQueue& queue_;
    RetryState& retry_;
    bool gone_back_ = false;  ///< since the last progress
    Psn flight_end_;          ///< what had been sent when it last went back
};

}  // namespace vroce::nic
