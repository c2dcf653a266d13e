// What a device does in each iteration of the worker's loop: doorbells in, ended copies back to the engine.
#include <algorithm>
#include <bit>

#include "nic/device/device.hpp"
#include "nic/device/shared.hpp"

namespace vroce::nic {

namespace {

/// Of one context in one scan, give or take a leaf: an application with thousands of queue pairs has its turn as others
/// have theirs.
constexpr std::size_t kDoorbellsPerScan = 256;

}  // namespace

// ---- doorbells -----------------------------------------------------------------------------------------------------

bool Device::scan_doorbells(Instant now) {
    bool any = false;
    for (const auto& context : contexts_) any = scan_context(*context, now) || any;
    return any;
}

bool Device::scan_context(Context& context, Instant now) {
    if (context.closing_) return false;
    // A round is finished before the next begins, so that no leaf starves behind one that is rung all the time.
    const auto is_zero = [](std::uint64_t word) { return word == 0; };
    if (std::all_of(context.rung_.begin(), context.rung_.end(), is_zero)) {
        vroce_doorbell_page& page = *context.resources_.doorbells;
        for (std::size_t s = 0; s < context.rung_.size(); ++s) context.rung_[s] = take_bits(page.summary[s]);
    }
    std::size_t taken = 0;
    for (std::size_t s = 0; s < context.rung_.size(); ++s) {
        for (; context.rung_[s] != 0; context.rung_[s] &= context.rung_[s] - 1) {
            if (taken >= kDoorbellsPerScan) {
                counters_.add(DeviceCounter::DoorbellScansCut);
                return true;
            }
            taken += ring_leaf(context, s * 64 + static_cast<std::size_t>(std::countr_zero(context.rung_[s])), now);
        }
    }
    return taken != 0;
}

std::size_t Device::ring_leaf(Context& context, std::size_t leaf, Instant now) {
    std::size_t taken = 0;
    for (std::uint64_t bits = take_bits(context.resources_.doorbells->leaf[leaf]); bits != 0; bits &= bits - 1) {
        const std::size_t slot = leaf * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        // A bit of no QP is an application's mistake and nobody else's concern.
        if (slot >= context.slots_.size() || context.slots_[slot] == nullptr) {
            counters_.add(DeviceCounter::DoorbellsStray);
            continue;
        }
        engine_.doorbell(now, context.slots_[slot]->qpn);
        ++taken;
    }
    counters_.add(DeviceCounter::DoorbellsTaken, taken);
    return taken;
}

// ---- copies --------------------------------------------------------------------------------------------------------

bool Device::collect_copies(Instant now) {
    bool any = false;
    for (Context* context : copying_) any = collect_context(*context, now) || any;
    return any;
}

bool Device::collect_context(Context& context, Instant now) {
    Copier& copier = *context.copier();
    if (copier.idle()) {
        context.copies_wait_since_ = kNever;
        return false;
    }
    const std::size_t ended = copier.collect([&](CopyTag tag, bool ok) {
        if (!ok) counters_.add(DeviceCounter::CopyFaults);
        engine_.on_copy_done(now, tag.qpn, tag.direction, ok);
    });
    if (!copier.waited_for())
        context.copies_wait_since_ = kNever;
    else if (ended != 0 || context.copies_wait_since_ == kNever)
        context.copies_wait_since_ = now;
    else if (now - context.copies_wait_since_ >= copy_limit_)
        give_up_copies(context, now);
    return ended != 0;
}

/// The application's memory does not answer (a userfaultfd or FUSE page): its queue pairs go to error, and what they
/// hold of the NIC's is freed. Others never notice (design D4).
void Device::give_up_copies(Context& context, Instant now) {
    counters_.add(DeviceCounter::CopiesStuck);
    context.copies_wait_since_ = kNever;
    context.qps_.for_each([&](std::uint32_t, Context::Qp& qp) {
        QueuePair& pair = *qp.pair;
        const QpState state = engine_.query_qp(pair.qpn).state;
        if (state >= QpState::Rtr && state != QpState::Err) {
            pair.state_changed(QpState::Err);
            engine_.modify_qp(now, pair.qpn, QpState::Err, transport_attributes(pair.attr, pair.path, pair.qpn));
            pair.async_event(AsyncEventType::QpFatal);
        }
        end_copies(context, now, pair.qpn);
    });
}

Instant Device::next_deadline() const {
    Instant earliest = kNever;
    for (const Context* context : copying_)
        if (context->copies_wait_since_ != kNever)
            earliest = std::min(earliest, context->copies_wait_since_ + copy_limit_);
    return earliest;
}

}  // namespace vroce::nic
