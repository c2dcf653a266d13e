// Send work requests in posting order, from fetch to completion, and the PSNs they occupy:
//
//     una            next          highest        allocated
//      |- in flight --|-- to resend --|-- not yet sent --|
//      ^ oldest item                   ^ of the newest item
//
// Everything before `una` is acknowledged. A rewind sets next = una (go-back-N). Acknowledgement stops at a READ until
// its data is there, so that completions are in order by construction (IBTA 9.7.5.1.2 and C9-96).
#pragma once

#include <cstdint>

#include "nic/transport/qp_context.hpp"

namespace vroce::nic {

class SendQueue {
public:
    explicit SendQueue(QpContext& qp) : qp_(qp) {}
    ~SendQueue() { clear(); }
    SendQueue(const SendQueue&) = delete;
    SendQueue& operator=(const SendQueue&) = delete;

    /// Forgets all work and begins at ring index 0.
    void reset();
    void start(Psn psn) { una_ = next_ = highest_ = allocated_ = psn; }

    /// Next item that has something to send, fetching from the ring if `may_fetch`; nullptr when there is none.
    SendItem* current(bool may_fetch);
    [[nodiscard]] SendItem* oldest() const { return head_; }
    /// Place of `next` within the current item.
    [[nodiscard]] std::uint32_t index(const SendItem& item) const { return steps(item.first, next_); }
    /// `count` PSNs of the current item were given out.
    void sent(Instant now, SendItem& item, std::uint32_t count);

    /// All before `to` is acknowledged, up to the first READ without its data. True when `una` reached `to`.
    bool acknowledge(Instant now, Psn to);
    /// The oldest item is a READ, and `count` of its responses from `una` on have landed.
    void read_landed(Instant now, std::uint32_t count);
    /// Go back to `una`: all that was sent and not acknowledged will be sent again.
    void rewind();

    /// Completes the oldest item with an error; the rest is for flush().
    void fail_oldest(WcStatus status, VendorError reason);
    /// Completes everything fetched and everything in the ring as flushed.
    void flush();

    [[nodiscard]] Psn una() const { return una_; }
    [[nodiscard]] Psn next() const { return next_; }
    [[nodiscard]] Psn highest() const { return highest_; }
    [[nodiscard]] bool empty() const { return head_ == nullptr; }
    [[nodiscard]] bool outstanding() const { return una_ != next_; }
    [[nodiscard]] std::uint64_t in_flight_bytes() const { return in_flight_bytes_; }
    [[nodiscard]] std::uint32_t reads_outstanding() const { return reads_outstanding_; }
    /// READs among the fetched items whose data is not all there.
    [[nodiscard]] std::uint32_t reads_incomplete() const { return reads_incomplete_; }
    /// Responses that one READ request asks for at most: long READs are asked for in parts, so that the window holds.
    [[nodiscard]] std::uint32_t read_part(const SendItem& item) const;

private:
    SendItem* fetch();
    void complete(const SendItem& item, WcStatus status, VendorError reason);
    void pop_oldest();
    void clear();
    void release_window(Instant now, std::uint64_t bytes);
    /// Parts of a READ that were asked for and have not wholly come.
    [[nodiscard]] std::uint32_t parts_outstanding(const SendItem& item) const;
    void advance_una(Instant now, const SendItem& item, std::uint32_t at, std::uint32_t count);

    QpContext& qp_;
    SendItem* head_ = nullptr;
    SendItem* tail_ = nullptr;
    SendItem* cursor_ = nullptr;  ///< item that `next` lies in; nullptr when next == allocated
    Psn una_;
    Psn next_;
    Psn highest_;
    Psn allocated_;
    std::uint32_t fetch_index_ = 0;
    std::uint32_t items_ = 0;
    std::uint32_t reads_outstanding_ = 0;
    std::uint32_t reads_incomplete_ = 0;
    std::uint64_t in_flight_bytes_ = 0;
    PortWindow::Charge charge_;
};

}  // namespace vroce::nic
