// How many request bytes all queue pairs together may have in flight (design D11f), and what to do when a peer is gone:
// a charge that saw no progress for a while counts bytes that are no longer in the network, and is given back, so that
// dead connections do not starve living ones.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/time.hpp"
#include "nic/transport/hook_list.hpp"

namespace vroce::nic {

class PortWindow {
public:
    /// One queue pair's share.
    struct Charge {
        Charge() { hook.owner = this; }
        Hook hook;
        std::uint64_t bytes = 0;
        Instant progress;  ///< when it last grew or shrank
    };
    static constexpr Duration kLifetime = milliseconds(2);

    explicit PortWindow(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

    /// Do `bytes` more fit behind `planned` ones that are not yet taken? One packet always fits into an empty window.
    [[nodiscard]] bool fits(std::uint64_t planned, std::uint64_t bytes) const {
        const std::uint64_t before = in_flight_bytes_ + planned;
        return before == 0 || before + bytes <= limit_bytes_;
    }
    [[nodiscard]] std::uint64_t in_flight_bytes() const { return in_flight_bytes_; }

    void take(Instant now, Charge& charge, std::uint64_t bytes) {
        charge.bytes += bytes;
        in_flight_bytes_ += bytes;
        touch(now, charge);
    }
    void give_back(Instant now, Charge& charge, std::uint64_t bytes) {
        bytes = std::min(bytes, charge.bytes);
        charge.bytes -= bytes;
        in_flight_bytes_ -= bytes;
        touch(now, charge);
    }
    void drop(Charge& charge) {
        in_flight_bytes_ -= charge.bytes;
        charge.bytes = 0;
        charge.hook.unlink();
    }
    /// Gives back what is too old; returns how many charges that were.
    std::uint64_t expire(Instant now) {
        std::uint64_t expired = 0;
        for (Charge* oldest; (oldest = by_age_.front()) != nullptr && oldest->progress + kLifetime <= now; ++expired)
            drop(*oldest);
        return expired;
    }
    [[nodiscard]] Instant next_expiry() const {
        const Charge* oldest = by_age_.front();
        return oldest == nullptr ? kNever : oldest->progress + kLifetime;
    }

private:
    void touch(Instant now, Charge& charge) {
        charge.progress = now;
        charge.hook.unlink();
        if (charge.bytes != 0) by_age_.push_back(charge.hook);
    }

    std::uint64_t limit_bytes_;
    std::uint64_t in_flight_bytes_ = 0;
    HookList<Charge> by_age_;
};

}  // namespace vroce::nic
