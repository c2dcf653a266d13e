// What the responder has to say, in the order it must be said: READ responses by PSN, then one acknowledgement or NAK
// (IBTA 9.7.5.1.2, C9-111: a NAK leaves behind all earlier responses). Acknowledgements are coalesced here.
#pragma once

#include <cstdint>

#include "nic/transport/frame_builder.hpp"
#include "nic/transport/qp_context.hpp"
#include "nic/transport/read_jobs.hpp"
#include "nic/transport/send_batch.hpp"
#include "nic/transport/transmit_burst.hpp"
#include "nic/transport/verdict.hpp"

namespace vroce::nic {

class ReplySender {
public:
    ReplySender(QpContext& qp, SendBatch& batch) : qp_(qp), batch_(batch), jobs_(qp) {}

    void reset();
    // ---- the responder's side
    /// Acknowledge `psn` and all before it; `msn` is the count of completed messages.
    void acknowledge(Psn psn, std::uint32_t msn);
    void nak(Psn psn, std::uint8_t syndrome, std::uint32_t msn);
    /// What a NAK or RNR NAK not yet sent complained about has come.
    void withdraw_nak();
    void read(const ReadJob& job);
    ReadJobs::Replay replay(const ReadJob& job);
    /// Something was refused and the peer does not know yet.
    [[nodiscard]] bool ends_with_nak() const { return tail_ == Tail::Nak; }
    [[nodiscard]] std::uint32_t reads_outstanding() const { return jobs_.outstanding(); }

    // ---- the engine's side
    [[nodiscard]] bool wants_turn() const;
    Turn turn(Instant now, TransmitBurst& burst);
    void gather_failed();
    /// The queue pair is going away or to Err by our own side's will: READs are not answered any more.
    void drop_reads();
    /// An acknowledgement that needs nothing before it, for a queue pair that ends now; nullptr when there is none.
    [[nodiscard]] Packet* last_word();

private:
    enum class Tail : std::uint8_t { None, Ack, Nak };

    Turn read_responses(TransmitBurst& burst, std::uint32_t quantum);
    bool build_run(const ReadJob& job, std::uint32_t limit);
    [[nodiscard]] Draft draft_response(const ReadJob& job, std::uint32_t index);
    void emit(TransmitBurst& burst);
    [[nodiscard]] Packet* build_tail();
    void abandon_batch();

    QpContext& qp_;
    SendBatch& batch_;
    ReadJobs jobs_;
    Tail tail_ = Tail::None;
    std::uint8_t tail_syndrome_ = 0;
    Psn tail_psn_;
    std::uint32_t tail_msn_ = 0;
};

}  // namespace vroce::nic
