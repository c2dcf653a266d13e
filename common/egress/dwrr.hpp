// Weighted shares of a line in bytes. The deficit is kept the other way round: each queue has a debt, which is what it
// sent beyond the others divided by its weight; the one that owes least is next, and what it owes is forgiven to all.
// So no queue ever has credit: one that was empty, paused or shaped comes back with a debt of one frame at most, and
// what it left unused is already shared among the others. Frames of the queues alternate, where a quantum for each turn
// would send bursts of weight x MTU.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "common/egress/queue_schedule.hpp"

namespace vroce {

class Dwrr {
public:
    static constexpr unsigned kWeightMax = 100;

    /// Takes effect with the next frame; debts are forgotten.
    void set_weights(const PortSchedule& schedule) {
        debts_ = {};
        owing_ = 0;
        for (unsigned q = 0; q < kEgressQueues; ++q)
            cost_per_byte_[q] = kUnit / std::clamp<unsigned>(schedule[q].weight, 1, kWeightMax);
    }
    /// candidates: bit q set for each queue that could send; not 0. The queue whose turn it is, the highest of equals.
    [[nodiscard]] unsigned pick(unsigned candidates) const {
        unsigned best = static_cast<unsigned>(std::bit_width(candidates)) - 1;
        for (unsigned rest = candidates & ~(1u << best); rest != 0; rest &= rest - 1) {
            const auto q = static_cast<unsigned>(std::countr_zero(rest));
            if (debts_[q] < debts_[best]) best = q;
        }
        return best;
    }
    /// What pick gave sent so many bytes.
    void charge(unsigned queue, std::uint64_t bytes) {
        if (const std::uint64_t forgiven = debts_[queue]; forgiven != 0) forgive(forgiven);
        debts_[queue] = bytes * cost_per_byte_[queue];
        owing_ |= 1u << queue;
    }

private:
    void forgive(std::uint64_t amount) {
        for (unsigned rest = owing_; rest != 0; rest &= rest - 1) {
            const auto q = static_cast<unsigned>(std::countr_zero(rest));
            debts_[q] -= std::min(debts_[q], amount);
            if (debts_[q] == 0) owing_ &= ~(1u << q);
        }
    }

    /// A byte of weight 1. The shares are off by less than weight / kUnit, which is 0.01 %.
    static constexpr std::uint64_t kUnit = std::uint64_t{1} << 20;

    std::array<std::uint64_t, kEgressQueues> cost_per_byte_{kUnit, kUnit, kUnit, kUnit, kUnit, kUnit, kUnit, kUnit};
    std::array<std::uint64_t, kEgressQueues> debts_{};  ///< bytes x kUnit / weight
    unsigned owing_ = 0;                                ///< bit q: debts_[q] is not 0
};

}  // namespace vroce
