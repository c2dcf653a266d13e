// The sending half of an RC queue pair: turns work requests into request packets within the windows. What comes back is
// the ResponseHandler's; both work on the same SendQueue and RetryState.
#pragma once

#include <cstdint>

#include "nic/transport/frame_builder.hpp"
#include "nic/transport/qp_context.hpp"
#include "nic/transport/retry_state.hpp"
#include "nic/transport/send_batch.hpp"
#include "nic/transport/send_queue.hpp"
#include "nic/transport/transmit_burst.hpp"

namespace vroce::nic {

class Requester {
public:
    Requester(QpContext& qp, SendBatch& batch, SendQueue& queue, RetryState& retry)
        : qp_(qp), batch_(batch), queue_(queue), retry_(retry) {}

    /// Something happened that may let it send.
    void wake() { awake_ = true; }
    [[nodiscard]] bool wants_turn() const;
    Turn turn(Instant now, TransmitBurst& burst);
    /// The copy for its batch has failed.
    void gather_failed();
    /// Drops frames built but not given out: the place they were built for has moved.
    void abandon_batch();

private:
    enum class Step : std::uint8_t { Sent, Blocked, PortBlocked, NoPacket };

    Step step(Instant now, TransmitBurst& burst, std::uint32_t& quantum);
    Step send_message_part(SendItem& item, std::uint32_t limit);
    Step send_read_request(SendItem& item);
    Step build_run(SendItem& item, std::uint32_t first, std::uint32_t count);
    [[nodiscard]] Draft draft_request(const SendItem& item, std::uint32_t index);
    Step refused(Step verdict);
    /// May `count` PSNs from the current place, weighing `cost`, follow `taken` bytes not yet charged?
    Step admit(std::uint64_t taken, std::uint64_t cost, std::uint32_t count);
    void emit(Instant now, TransmitBurst& burst, std::uint32_t& quantum);
    [[nodiscard]] bool may_start(const SendItem& item) const;
    [[nodiscard]] std::uint64_t window_bytes() const;
    static void refuse(SendItem& item, WcStatus status, VendorError reason);

    QpContext& qp_;
    SendBatch& batch_;
    SendQueue& queue_;
    RetryState& retry_;
    bool awake_ = false;
};

}  // namespace vroce::nic
