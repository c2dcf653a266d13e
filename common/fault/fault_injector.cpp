#include "common/fault/fault_injector.hpp"

#include <algorithm>
#include <array>

namespace vroce {

namespace {
constexpr std::uint32_t kEthernetHeaderBytes = 14;
/// How long a reordered packet is held: a few packets' time at the speeds of a lab.
constexpr Duration kReorderHold = microseconds(20);
}  // namespace

std::string_view label(FaultEvent event) {
    static constexpr std::array<std::string_view, CounterSet<FaultEvent>::kCount> kLabels{
        "dropped", "corrupted", "reordered", "duplicated", "delayed", "no_buffer", "held_full"};
    return kLabels[static_cast<std::size_t>(event)];
}

FaultInjector::~FaultInjector() {
    for (const Held& held : held_) release(held.packet);
}

void FaultInjector::set(const FaultSettings& settings) {
    settings_ = settings;
    random_ = Random(settings.seed);
    active_ = settings.active();
}

void FaultInjector::push(Instant now, Packet* packet) {
    if (random_.chance(settings_.drop)) {
        counters_.add(FaultEvent::Dropped);
        release(packet);
        return;
    }
    if (random_.chance(settings_.duplicate)) {
        Packet* copy = pool_->clone(*packet);
        counters_.add(copy == nullptr ? FaultEvent::NoBuffer : FaultEvent::Duplicated);
        if (copy != nullptr) hold(now + settings_.delay, copy);
    }
    if (random_.chance(settings_.corrupt)) corrupt(packet);
    Instant due = now + settings_.delay;
    if (settings_.delay.ps > 0) counters_.add(FaultEvent::Delayed);
    if (random_.chance(settings_.reorder)) {
        counters_.add(FaultEvent::Reordered);
        due += kReorderHold;
    }
    hold(due, packet);
}

void FaultInjector::hold(Instant due, Packet* packet) {
    if (held_.size() >= kHeldMax) {
        counters_.add(FaultEvent::HeldFull);
        release(packet);
        return;
    }
    const auto place = std::upper_bound(held_.begin(), held_.end(), due,
                                        [](Instant instant, const Held& held) { return instant < held.due; });
    held_.insert(place, {due, packet});
}

Packet* FaultInjector::pop(Instant now) {
    if (held_.empty() || held_.front().due > now) return nullptr;
    Packet* packet = held_.front().packet;
    held_.pop_front();
    return packet;
}

void FaultInjector::corrupt(Packet* packet) {
    if (packet->length <= kEthernetHeaderBytes) return;
    counters_.add(FaultEvent::Corrupted);
    const std::uint64_t flips = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < flips; ++i) {
        const std::uint64_t bit = random_.below((packet->length - kEthernetHeaderBytes) * std::uint64_t{8});
        packet->data[kEthernetHeaderBytes + bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    }
}

}  // namespace vroce
