// How the NIC reads and writes words that an application shares, named by purpose. Nothing else in nic/device touches
// the memory order of anything.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

/// Copies what an application may be changing meanwhile. The barrier keeps the compiler from reading the ring a second
/// time in place of the copy: what was checked is what is used.
inline void copy_once(void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    asm volatile("" ::: "memory");
}

/// Happens after the application's release store of the index: what it wrote into the ring before is visible now.
inline std::uint32_t observe_index(std::uint32_t& word) {
    return std::atomic_ref<std::uint32_t>(word).load(std::memory_order_acquire);
}

/// Everything written before is visible to who observes the new value.
inline void publish_index(std::uint32_t& word, std::uint32_t value) {
    std::atomic_ref<std::uint32_t>(word).store(value, std::memory_order_release);
}

/// After an entry was published: whether the application waits for an event. Dekker with its "arm, fence, poll": either
/// it sees the entry or we see it armed. Disarms by exchange, so that one arming gives one event.
inline bool take_arm(std::uint32_t& armed, bool solicited) {
    const std::atomic_ref<std::uint32_t> word(armed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const std::uint32_t seen = word.load(std::memory_order_relaxed);
    if (seen == VROCE_ARM_NONE || (seen == VROCE_ARM_SOLICITED && !solicited)) return false;
    return word.exchange(VROCE_ARM_NONE, std::memory_order_seq_cst) != VROCE_ARM_NONE;
}

/// Takes all bits of a doorbell word; what the posting threads published before they set them is visible.
inline std::uint64_t take_bits(std::uint64_t& bits) {
    const std::atomic_ref<std::uint64_t> word(bits);
    if (word.load(std::memory_order_relaxed) == 0) return 0;
    return word.exchange(0, std::memory_order_seq_cst);
}

}  // namespace vroce::nic
