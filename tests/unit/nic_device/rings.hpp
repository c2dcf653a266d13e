// Rings in ordinary memory and an event sink that remembers, for tests of what stands on them.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "nic/device/completion_queue.hpp"
#include "nic/device/queue_pair.hpp"

namespace vroce::nic {

class RecordingEvents final : public EventSink {
public:
    void comp_event(std::uint32_t channel, std::uint64_t cq) override { comp.emplace_back(channel, cq); }
    void async_event(const vroce_async_event& event) override { async.push_back(event); }
    std::vector<std::pair<std::uint32_t, std::uint64_t>> comp;
    std::vector<vroce_async_event> async;
};

struct CqMemory {
    explicit CqMemory(std::uint32_t slots) : entries(slots) {}
    CqRing ring() { return {&control, entries.data(), static_cast<std::uint32_t>(entries.size())}; }
    vroce_cq_control control{};
    std::vector<vroce_cqe> entries;
};

struct QpMemory {
    static constexpr std::uint32_t kSlots = 4;
    static constexpr std::uint32_t kSqStride = 64 + 256;
    static constexpr std::uint32_t kRqStride = 64;
    QpMemory() : sq(kSlots * kSqStride), rq(kSlots * kRqStride) {}

    void post_send(std::uint32_t index, const vroce_send_wqe& wqe, const std::vector<vroce_sge>& sges) {
        std::uint8_t* slot = sq.data() + (index % kSlots) * kSqStride;
        std::memcpy(slot, &wqe, sizeof wqe);
        if (!sges.empty()) std::memcpy(slot + sizeof wqe, sges.data(), sges.size() * sizeof(vroce_sge));
        control.sq_producer = index + 1;
    }
    vroce_qp_control control{};
    std::vector<std::uint8_t> sq;
    std::vector<std::uint8_t> rq;
};

}  // namespace vroce::nic
