// When the requester must act by itself: the ACK timeout and the RNR wait exclude each other, so they are one variant
// (IBTA 9.7.6.1.3, 9.7.5.2.8), and the two retry counters with them.
#pragma once

#include <cstdint>

#include "common/base/time.hpp"
#include "nic/transport/timing.hpp"
#include "nic/transport/types.hpp"

namespace vroce::nic {

class RetryState {
public:
    enum class Waiting : std::uint8_t { Nothing, AckTimeout, RnrWait };
    static constexpr std::uint8_t kForEver = 7;  // rnr_retry only; retry_count is finite in all its values

    void reset(const QpAttributes& attributes) {
        disarm();
        refill(attributes);
    }
    /// A request packet was given out: the clock of the oldest one runs.
    void packet_sent(Instant now, const QpAttributes& attributes) {
        if (waiting_ == Waiting::Nothing && attributes.timeout != 0)
            arm(Waiting::AckTimeout, now + ack_timeout(attributes.timeout));
    }
    /// Something new was acknowledged: counters are full again, and the clock starts anew if anything is still out.
    void progress(Instant now, const QpAttributes& attributes, bool outstanding) {
        refill(attributes);
        recovering_ = false;
        disarm();
        if (outstanding) packet_sent(now, attributes);
    }
    /// The receive side is held up on our side, so silence proves nothing yet.
    void postpone(Instant now, const QpAttributes& attributes) {
        arm(Waiting::AckTimeout, now + ack_timeout(attributes.timeout));
    }
    void wait_rnr(Instant until) { arm(Waiting::RnrWait, until); }
    void disarm() {
        waiting_ = Waiting::Nothing;
        at_ = kNever;
    }

    /// One retry is used; false when there was none left.
    [[nodiscard]] bool take_retry() {
        if (retries_left_ == 0) return false;
        --retries_left_;
        return true;
    }
    [[nodiscard]] bool take_rnr_retry() {
        if (rnr_left_ == kForEver) return true;
        if (rnr_left_ == 0) return false;
        --rnr_left_;
        return true;
    }
    void begin_recovery() { recovering_ = true; }
    /// After a timeout and until progress the window is small: who may be congested is not flooded.
    [[nodiscard]] bool recovering() const { return recovering_; }
    [[nodiscard]] Waiting waiting() const { return waiting_; }
    [[nodiscard]] Instant deadline() const { return at_; }

private:
    void arm(Waiting what, Instant at) {
        waiting_ = what;
        at_ = at;
    }
    void refill(const QpAttributes& attributes) {
        retries_left_ = attributes.retry_count;
        rnr_left_ = attributes.rnr_retry;
    }

    Instant at_ = kNever;
    Waiting waiting_ = Waiting::Nothing;
    bool recovering_ = false;
    std::uint8_t retries_left_ = 0;
    std::uint8_t rnr_left_ = 0;
};

}  // namespace vroce::nic
