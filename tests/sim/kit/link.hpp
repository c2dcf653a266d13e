// A cable between two ports on the virtual clock: it takes the frame's time at the link's speed and then its delay.
// What is given to it faster than that waits in it, as in a ring; how much did is its `ring_bytes_max`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <span>

#include "common/base/time.hpp"
#include "common/packet/packet.hpp"
#include "common/packet/port.hpp"

namespace vroce::sim {

struct LinkConfig {
    std::uint64_t speed_bps = 10'000'000'000;
    Duration delay = nanoseconds(50);     ///< one way: 10 m of cable
    std::size_t ring_packets = SIZE_MAX;  ///< on the way at most; what does not fit is refused to the sender
};

class Link;

/// One end, the port that a node holds. Frames that it takes are copied into packets of the receiver's pool, as through
/// a ring between two processes.
class LinkEnd final : public Port {
public:
    LinkEnd(const Instant& now, const LinkConfig& config, PacketPool& pool) : now_(now), config_(config), pool_(pool) {}
    ~LinkEnd() override {
        for (const OnTheWay& frame : arriving_) vroce::release(frame.packet);
    }
    LinkEnd(const LinkEnd&) = delete;
    LinkEnd& operator=(const LinkEnd&) = delete;

    [[nodiscard]] std::size_t receive(std::span<Packet*> out) override {
        std::size_t count = 0;
        while (count < out.size() && !arriving_.empty() && arriving_.front().at <= now_) {
            out[count++] = arriving_.front().packet;
            arriving_.pop_front();
        }
        return count;
    }
    [[nodiscard]] std::size_t send(std::span<Packet* const> packets) override {
        std::size_t took = 0;
        while (took < packets.size() && other_->arriving_.size() < config_.ring_packets) other_->take(packets[took++]);
        return took;
    }
    [[nodiscard]] bool link_up() const override { return up_; }
    void set_link(bool up) { up_ = up; }

    [[nodiscard]] Instant next_arrival() const { return arriving_.empty() ? kNever : arriving_.front().at; }
    [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }
    /// The longest that a frame waited because the one before it was still on the line.
    [[nodiscard]] Duration wait_max() const { return wait_max_; }

private:
    friend class Link;
    struct OnTheWay {
        Packet* packet;
        Instant at;
    };
    static constexpr std::uint32_t kLineOverheadBytes = 24;

    void take(Packet* packet) {
        wait_max_ = std::max(wait_max_, free_at_ - now_);
        const std::uint64_t bits = (std::uint64_t{packet->length} + kLineOverheadBytes) * 8;
        free_at_ = std::max(free_at_, now_) +
                   picoseconds(static_cast<std::int64_t>(bits * 1'000'000'000'000u / config_.speed_bps));
        received_bytes_ += packet->length;
        Packet* copy = pool_.clone(*packet);
        vroce::release(packet);
        if (copy == nullptr) std::abort();  // the test's pool is too small for what the test does
        copy->meta = Meta{};
        arriving_.push_back({copy, free_at_ + config_.delay});
    }

    const Instant& now_;
    LinkConfig config_;
    PacketPool& pool_;
    LinkEnd* other_ = nullptr;
    std::deque<OnTheWay> arriving_;
    Instant free_at_{};
    Duration wait_max_{};
    std::uint64_t received_bytes_ = 0;
    bool up_ = true;
};

class Link {
public:
    Link(const Instant& now, const LinkConfig& config, PacketPool& pool)
        : a_(now, config, pool), b_(now, config, pool) {
        a_.other_ = &b_;
        b_.other_ = &a_;
    }
    [[nodiscard]] LinkEnd& a() { return a_; }
    [[nodiscard]] LinkEnd& b() { return b_; }
    void set_link(bool up) {
        a_.set_link(up);
        b_.set_link(up);
    }

private:
    LinkEnd a_;
    LinkEnd b_;
};

}  // namespace vroce::sim
