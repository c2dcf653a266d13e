// Numbers: fresh slots first while there are few, then the one that has been free for longest.
#include "nic/transport/qp_table.hpp"

namespace vroce::nic {
namespace {

constexpr std::size_t kFewFree = 64;

/// 0 and 1 are the management queue pairs, 0xFFFFFF is multicast.
bool reserved(std::uint32_t qpn) {
    return qpn <= 1 || qpn == 0xFF'FFFF;
}

}  // namespace

std::uint32_t QpTable::reserve() {
    while (true) {
        std::uint32_t slot;
        if (slots_.size() < kMostQps && free_.size() < kFewFree) {
            slot = static_cast<std::uint32_t>(slots_.size());
            slots_.emplace_back().generation = generation_base_;
        } else if (!free_.empty()) {
            slot = free_.front();
            free_.pop_front();
            ++slots_[slot].generation;
        } else {
            return 0;
        }
        const std::uint32_t qpn = std::uint32_t{slots_[slot].generation} << 16 | slot;
        if (!reserved(qpn)) return qpn;
        if (slots_.size() < kMostQps) continue;
        free_.push_back(slot);
    }
}

std::unique_ptr<Qp> QpTable::take(std::uint32_t qpn) {
    if (find(qpn) == nullptr) return nullptr;
    free_.push_back(qpn & kSlotMask);
    return std::move(slots_[qpn & kSlotMask].qp);
}

}  // namespace vroce::nic
