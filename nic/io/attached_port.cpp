#include "nic/io/attached_port.hpp"

#include <algorithm>

#include "pfc/storm_check.hpp"

namespace vroce::nic {

std::size_t AttachedPort::receive(Instant now, std::span<Packet*> out) {
    std::size_t count = port_.receive(out);
    if (capture_ != nullptr) {
        for (std::size_t i = 0; i < count; ++i) capture_->record(*out[i]);
    }
    if (!rx_fault_.active()) return take_mac_control(now, out.first(count));
    for (std::size_t i = 0; i < count; ++i) rx_fault_.push(now, out[i]);
    for (count = 0; count < out.size(); ++count) {
        out[count] = rx_fault_.pop(now);
        if (out[count] == nullptr) break;
    }
    return take_mac_control(now, out.first(count));
}

std::size_t AttachedPort::take_mac_control(Instant now, std::span<Packet*> packets) {
    if (flow_control_.settings().mode == PauseMode::kOff) return packets.size();
    std::size_t kept = 0;
    for (Packet* packet : packets) {
        if (!is_mac_control(packet->bytes())) [[likely]] {
            packets[kept++] = packet;
            continue;
        }
        flow_control_.receive(now, packet->bytes());
        release(packet);
    }
    return kept;
}

void AttachedPort::send(Packet* packet, unsigned queue) {
    const bool fits = tx_.egress().queue_bytes(queue) + packet->length <= queue_limit_bytes_;
    if (fits && tx_.enqueue(packet, queue)) return;
    ++drop_queue_full_;
    release(packet);
}

bool AttachedPort::flush(Instant now, std::uint8_t congested) {
    if (flow_control_.settings().mode != PauseMode::kOff) {
        if (!port_.link_up()) flow_control_.reset(now);
        send_pause(now, congested);
    }
    tx_.egress().set_paused(now, flow_control_.paused_queues(now));
    return tx_.flush(now) != 0;
}

void AttachedPort::send_pause(Instant now, std::uint8_t congested) {
    if (!port_.link_up()) return;
    const auto frame = flow_control_.poll(now, congested);
    if (!frame) return;
    Packet* packet = pool_.alloc();
    if (packet == nullptr) {
        // Forgotten, so that the next iteration asks anew; a lost XON ends with the pause it would have ended.
        ++pause_without_packet_;
        flow_control_.sender().reset(now);
        return;
    }
    packet->resize(static_cast<std::uint32_t>(frame->size()));
    std::copy(frame->begin(), frame->end(), packet->data);
    tx_.send_control(packet);
}

Instant AttachedPort::next_deadline(Instant now) const {
    return std::min({tx_.next_deadline(), rx_fault_.next_deadline(), flow_control_.next_deadline(now)});
}

Status AttachedPort::set_fault(Instant now, const FaultRequest& request) {
    if (Status s = check_storm(flow_control_.settings(), request.pfc_storm, request.pfc_storm_tx); !s) return s;
    const auto has = [&](FaultDirection way) {
        return (static_cast<unsigned>(request.direction) & static_cast<unsigned>(way)) != 0;
    };
    fault_ = request;
    flow_control_.receiver().set_storm(now, request.pfc_storm);
    flow_control_.sender().set_storm(request.pfc_storm_tx);
    tx_.fault().set(has(FaultDirection::Tx) ? request.settings : FaultSettings{});
    rx_fault_.set(has(FaultDirection::Rx) ? request.settings : FaultSettings{});
    return Done{};
}

void AttachedPort::set_capture(Capture* capture) {
    capture_ = capture;
    const auto record = [](void* context, const Packet& packet) { static_cast<Capture*>(context)->record(packet); };
    tx_.set_tap(capture != nullptr ? PortTx::Tap(record) : nullptr, capture);
}

}  // namespace vroce::nic
