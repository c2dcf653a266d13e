// Queue pairs by number. The low 16 bits are a slot, the high 8 a generation, so that a number is not used again at
// once and a late packet of a dead connection finds nobody. The lowest bits leave room to name a worker (design D14).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "nic/transport/qp.hpp"

namespace vroce::nic {

class QpTable {
public:
    static constexpr std::uint32_t kMostQps = 1U << 16;

    explicit QpTable(std::uint64_t seed)
        : generation_base_(static_cast<std::uint8_t>(seed * 0x9E37'79B9'7F4A'7C15 >> 56)) {}

    /// 0 when all numbers are taken.
    [[nodiscard]] std::uint32_t reserve();
    void put(std::uint32_t qpn, std::unique_ptr<Qp> qp) { slots_[qpn & kSlotMask].qp = std::move(qp); }
    [[nodiscard]] Qp* find(std::uint32_t qpn) const {
        const std::uint32_t slot = qpn & kSlotMask;
        if (slot >= slots_.size() || slots_[slot].qp == nullptr) return nullptr;
        return slots_[slot].qp->number() == qpn ? slots_[slot].qp.get() : nullptr;
    }
    /// Frees the number; the queue pair is the caller's.
    [[nodiscard]] std::unique_ptr<Qp> take(std::uint32_t qpn);

private:
    static constexpr std::uint32_t kSlotMask = kMostQps - 1;
    struct Slot {
        std::unique_ptr<Qp> qp;
        std::uint8_t generation = 0;
    };
    std::uint8_t generation_base_;
    std::vector<Slot> slots_;
    std::deque<std::uint32_t> free_;  ///< oldest first
};

}  // namespace vroce::nic
