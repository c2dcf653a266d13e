#include "common/fault/fault_injector.hpp"

#include <algorithm>

namespace vroce {

namespace {
constexpr std::uint32_t kEthernetHeaderBytes = 14;
/// A reordered packet without delay lets so many others by,
constexpr std::uint64_t kOvertakers = 3;
/// but waits no longer than this for them.
constexpr Duration kAsideLimit = microseconds(200);
}  // namespace

std::string_view label(FaultEvent event) {
    static constexpr auto kLabels =
        make_labels<FaultEvent>("dropped", "corrupted", "reordered", "duplicated", "delayed", "no_buffer", "held_full");
    return kLabels[static_cast<std::size_t>(event)];
}

FaultInjector::~FaultInjector() {
    while (Packet* packet = pop(kNever)) release(packet);
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
    send_on(now, packet);
}

void FaultInjector::send_on(Instant now, Packet* packet) {
    const bool delayed = settings_.delay.ps > 0;
    if (random_.chance(settings_.reorder)) {
        if (delayed) {
            counters_.add(FaultEvent::Reordered);
            return hold(now, packet);
        }
        if (set_aside(now, packet)) return;
    }
    if (delayed) counters_.add(FaultEvent::Delayed);
    hold(now + settings_.delay, packet);
}

void FaultInjector::hold(Instant due, Packet* packet) {
    if (held_count_ >= kHeldMax) {
        counters_.add(FaultEvent::HeldFull);
        release(packet);
        return;
    }
    packet->meta.time = due;
    // With one delay for all each is due after the one before it; only a reordered one goes to another place.
    Packet** link = &head_;
    if (tail_ != nullptr && tail_->meta.time <= due) link = &tail_->next;
    while (*link != nullptr && (*link)->meta.time <= due) link = &(*link)->next;
    packet->next = *link;
    *link = packet;
    if (packet->next == nullptr) tail_ = packet;
    ++held_count_;
}

bool FaultInjector::set_aside(Instant now, Packet* packet) {
    if (aside_count_ == kAsideMax) return false;
    counters_.add(FaultEvent::Reordered);
    // Those that wait already have their place before it.
    const std::uint64_t leaves_after = left_ + held_count_ + kOvertakers;
    aside_[(aside_first_ + aside_count_) % kAsideMax] = {packet, leaves_after, now + kAsideLimit};
    ++aside_count_;
    return true;
}

Packet* FaultInjector::pop_aside(Instant now) {
    if (aside_count_ == 0) return nullptr;
    const Aside& oldest = aside_[aside_first_];
    if (left_ < oldest.leaves_after && oldest.due > now) return nullptr;
    aside_first_ = (aside_first_ + 1) % kAsideMax;
    --aside_count_;
    oldest.packet->meta.time = std::min(now, oldest.due);
    return oldest.packet;
}

Packet* FaultInjector::pop(Instant now) {
    if (Packet* packet = pop_aside(now)) return packet;
    if (head_ == nullptr || head_->meta.time > now) return nullptr;
    Packet* packet = head_;
    head_ = packet->next;
    if (head_ == nullptr) tail_ = nullptr;
    packet->next = nullptr;
    --held_count_;
    ++left_;
    return packet;
}

Instant FaultInjector::next_deadline() const {
    Instant earliest = head_ == nullptr ? kNever : head_->meta.time;
    if (aside_count_ == 0) return earliest;
    const Aside& oldest = aside_[aside_first_];
    return left_ >= oldest.leaves_after ? Instant{} : std::min(earliest, oldest.due);
}

void FaultInjector::corrupt(Packet* packet) {
    if (packet->length <= kEthernetHeaderBytes) return;
    counters_.add(FaultEvent::Corrupted);
    // An odd number of flips leaves a changed frame even when two hit the same bit.
    const std::uint64_t flips = 1 + 2 * random_.below(2);
    for (std::uint64_t i = 0; i < flips; ++i) {
        const std::uint64_t bit = random_.below((packet->length - kEthernetHeaderBytes) * std::uint64_t{8});
        packet->data[kEthernetHeaderBytes + bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    }
}

}  // namespace vroce
