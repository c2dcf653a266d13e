// Takes room in the buffer for each copy of a frame, or refuses it. What is admitted is charged until it leaves its
// queue.
#pragma once

#include <optional>

#include "common/base/random.hpp"
#include "switch/core/departures.hpp"
#include "switch/mmu/buffer_manager.hpp"

namespace vroce::sw {

enum class AdmitExit : std::uint8_t {
    kAdmitted,
    kGroupFull,
    kHeadroomFull,
    kQueueFull,
    kEarlyDrop,
    kRefusedBefore,  ///< the priority group has refused the frame, at another copy, where that was counted
};

/// Buffer admission and WRED of one burst, copy after copy in their order. A frame that its priority group refuses has
/// ended once, however many copies it has.
class Admitter {
public:
    Admitter(BufferManager& buffers, Random& random) : buffers_(buffers), random_(random) {}

    /// `out`: the copy's output port, in whose queue all that was admitted before must wait by now: WRED looks at it.
    AdmitExit admit(const Departure& departure, const PortState& out);
    /// The same for single copies, at most kBurst, from the same priority group to the same queue of `out`. False: they
    /// are to be admitted one by one, since one of them may be refused.
    [[nodiscard]] bool admit_all(std::span<Packet* const> packets, const PortState& out);

private:
    BufferManager& buffers_;
    Random& random_;
    const Frame* frame_ = nullptr;  ///< of the copy before
    Packet* first_ = nullptr;       ///< admitted copy of it; nullptr: there is none yet
    bool refused_whole_ = false;
};

/// Precondition: the exit is a refusal that is to be counted.
DropReason reason_of(AdmitExit exit);

}  // namespace vroce::sw
