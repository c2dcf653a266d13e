// Every access to memory shared with the NIC process whose order matters, by purpose. Nobody else spells memory orders
// for shared words.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "provider/abi/vroce_abi.h"

namespace vroce::provider {

/// The WQEs before ring index `producer` happen before the NIC's acquire load of the producer word.
/// Caller holds the queue's lock.
inline void publish_wqe(std::uint32_t& producer_word, std::uint32_t producer) {
    std::atomic_ref<std::uint32_t>(producer_word).store(producer, std::memory_order_release);
}

/// What the NIC stored before the phase (the whole CQE, and the payload that it speaks of) happens before our reads
/// when this is true. Caller holds the CQ's lock.
inline bool observe_cqe(vroce_cqe& cqe, std::uint32_t expected_phase) {
    return std::atomic_ref<std::uint32_t>(cqe.phase).load(std::memory_order_acquire) == expected_phase;
}

/// Our reads of the CQEs before `consumer` happen before the NIC's reuse of their slots. Caller holds the CQ's lock.
inline void publish_consumer(vroce_cq_control& control, std::uint32_t consumer) {
    std::atomic_ref<std::uint32_t>(control.consumer).store(consumer, std::memory_order_release);
}

/// Arms, then lets the caller look for CQEs: either it sees one that the NIC published before it saw the arming, or the
/// NIC sees the arming: each side writes its word and then reads the other's, all in the one sequentially consistent
/// order.
inline void publish_arm(vroce_cq_control& control, std::uint32_t how) {
    std::atomic_ref<std::uint32_t>(control.armed).store(how, std::memory_order_seq_cst);
}

/// Takes the arming, so that exactly one side sends the event for it.
inline std::uint32_t take_arm(vroce_cq_control& control) {
    return std::atomic_ref<std::uint32_t>(control.armed).exchange(VROCE_ARM_NONE, std::memory_order_seq_cst);
}

/// Where a context's doorbells are rung.
struct Doorbell {
    vroce_doorbell_page* page = nullptr;
    std::uint32_t* sleeping = nullptr;  ///< in the NIC's read-only status page
    int event_fd = -1;
};

/// Tells the worker of new work in QP `slot`. The producer published before happens before the worker's reading of the
/// ring, since it takes the bit first. The bit is set before `sleeping` is read, the worker sets `sleeping` before it
/// looks for bits a last time (both seq_cst): one of the two sees the other, so no work is left to a sleeping worker. A
/// bit that was set already is somebody's who has read `sleeping` for it, or is about to.
inline void ring_doorbell(const Doorbell& bell, std::uint32_t slot) {
    const std::uint32_t word = slot / 64;
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    const std::uint64_t before = std::atomic_ref<std::uint64_t>(bell.page->leaf[word]).fetch_or(bit);
    std::atomic_ref<std::uint64_t>(bell.page->summary[word / 64]).fetch_or(std::uint64_t{1} << (word % 64));
    if ((before & bit) != 0) return;
    if (std::atomic_ref<std::uint32_t>(*bell.sleeping).load() != 1) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(bell.event_fd, &one, sizeof one);  // full means rung
}

}  // namespace vroce::provider
