#include "nic/io/attached_port.hpp"

#include <algorithm>

namespace vroce::nic {

std::size_t AttachedPort::receive(Instant now, std::span<Packet*> out) {
    std::size_t count = port_.receive(out);
    if (capture_ != nullptr) {
        for (std::size_t i = 0; i < count; ++i) capture_->record(*out[i]);
    }
    if (!rx_fault_.active()) return count;
    for (std::size_t i = 0; i < count; ++i) rx_fault_.push(now, out[i]);
    for (count = 0; count < out.size(); ++count) {
        out[count] = rx_fault_.pop(now);
        if (out[count] == nullptr) break;
    }
    return count;
}

void AttachedPort::send(Packet* packet) {
    if (tx_.enqueue(packet, 0)) return;
    ++drop_queue_full_;
    release(packet);
}

Instant AttachedPort::next_deadline() const {
    return std::min(tx_.next_deadline(), rx_fault_.next_deadline());
}

void AttachedPort::set_fault(const FaultRequest& request) {
    const auto has = [&](FaultDirection way) {
        return (static_cast<unsigned>(request.direction) & static_cast<unsigned>(way)) != 0;
    };
    fault_ = request;
    tx_.fault().set(has(FaultDirection::Tx) ? request.settings : FaultSettings{});
    rx_fault_.set(has(FaultDirection::Rx) ? request.settings : FaultSettings{});
}

void AttachedPort::set_capture(Capture* capture) {
    capture_ = capture;
    const auto record = [](void* context, const Packet& packet) { static_cast<Capture*>(context)->record(packet); };
    tx_.set_tap(capture != nullptr ? PortTx::Tap(record) : nullptr, capture);
}

}  // namespace vroce::nic
