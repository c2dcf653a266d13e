// A device over a real engine, as one application uses it whose memory is this process's own; and a cable between two.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/random.hpp"
#include "common/packet/slab_pool.hpp"
#include "nic/device/device.hpp"
#include "nic/device/qp_transitions.hpp"
#include "nic/memory/process_memory.hpp"
#include "tests/unit/nic_device/rings.hpp"

namespace vroce::nic {

constexpr std::uint32_t kAnyAccess = kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead;
constexpr std::uint32_t kInitMask = kAttrState | kAttrPkeyIndex | kAttrPort | kAttrAccessFlags;
constexpr std::uint32_t kRtrMask =
    kAttrState | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn | kAttrMaxDestRdAtomic | kAttrMinRnrTimer;
constexpr std::uint32_t kRtsMask =
    kAttrState | kAttrTimeout | kAttrRetryCnt | kAttrRnrRetry | kAttrSqPsn | kAttrMaxQpRdAtomic;

inline Gid gid_of(std::uint8_t host) {
    Gid gid;
    gid.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, host};
    return gid;
}

/// A queue pair with its rings and its place at the device.
struct TestQp {
    QpMemory rings;
    std::uint32_t handle = 0;
    std::uint32_t qpn = 0;
    std::uint32_t slot = 0;
    std::uint32_t received = 0;  ///< receives posted
    std::uint32_t sent = 0;
};

class Host {
public:
    using MakeMemory = std::function<std::unique_ptr<AddressSpace>()>;

    explicit Host(std::uint8_t number = 1, const MakeMemory& behind_copier = nullptr)
        : number_(number), engine({.seed = number}, pool), device(engine, random(number)) {
        ContextResources resources;
        resources.doorbells = &doorbells;
        resources.events = &events;
        if (behind_copier == nullptr) {
            resources.memory = std::make_unique<PeerMemory>(getpid());
        } else {
            auto made = std::make_unique<Copier>(behind_copier(), -1);
            copier = resources.copier = made.get();
            resources.memory = std::move(made);
        }
        context = device.open_context(std::move(resources));
        EXPECT_EQ(device.alloc_pd(*context, pd), 0);
        EXPECT_EQ(device.create_cq(*context, cq_memory.ring(), 1, 0xC0, cq), 0);
        device.set_time(now);
    }

    std::uint32_t register_memory(const void* addr, std::size_t length, std::uint32_t access = kAnyAccess) {
        MrRequest request;
        request.pd = pd;
        request.addr = request.iova = reinterpret_cast<std::uint64_t>(addr);
        request.length = length;
        request.access = access;
        std::uint32_t key = 0;
        EXPECT_EQ(device.reg_mr(*context, std::move(request), last_mr, key), 0);
        return key;
    }
    std::unique_ptr<TestQp> make_qp() {
        auto qp = std::make_unique<TestQp>();
        EXPECT_EQ(try_make_qp(*qp), 0);
        return qp;
    }
    int try_make_qp(TestQp& qp) {
        vroce_create_qp request{};
        request.pd = pd;
        request.send_cq = request.recv_cq = cq;
        request.qp_type = 2;
        request.max_send_sge = request.max_recv_sge = 3;
        request.user_handle = 0xABC;
        QpPlan plan;
        EXPECT_EQ(Device::plan_qp(request, plan), 0);
        plan.sq_slots = plan.rq_slots = QpMemory::kSlots;
        plan.sq_stride = QpMemory::kSqStride;
        plan.rq_stride = QpMemory::kRqStride;
        plan.max_inline = QpMemory::kSqStride - sizeof(vroce_send_wqe);
        return device.create_qp(*context, request, plan, &qp.rings.control, qp.rings.sq.data(), qp.rings.rq.data(),
                                qp.handle, qp.qpn, qp.slot);
    }

    int modify(const TestQp& qp, std::uint32_t mask, const vroce_qp_attr& attr, const ResolvedPath* path = nullptr) {
        vroce_qp_attr result{};
        return device.modify_qp(*context, now, qp.handle, mask, attr, path, result);
    }
    int modify(const TestQp& qp, QpState to) {
        vroce_qp_attr attr{};
        attr.qp_state = static_cast<std::uint32_t>(to);
        return modify(qp, kAttrState, attr);
    }
    QpState state(const TestQp& qp) {
        vroce_qp_attr attr{};
        EXPECT_EQ(device.query_qp(*context, qp.handle, attr), 0);
        return static_cast<QpState>(attr.qp_state);
    }
    void to_init(const TestQp& qp) {
        vroce_qp_attr attr{};
        attr.qp_state = static_cast<std::uint32_t>(QpState::Init);
        attr.port_num = 1;
        attr.qp_access_flags = kAccessRemoteWrite | kAccessRemoteRead;
        ASSERT_EQ(modify(qp, kInitMask, attr), 0);
    }
    void to_rtr(const TestQp& qp, std::uint8_t peer, std::uint32_t peer_qpn) {
        vroce_qp_attr attr{};
        attr.qp_state = static_cast<std::uint32_t>(QpState::Rtr);
        attr.path_mtu = 3;  // 1,024
        attr.dest_qp_num = peer_qpn;
        attr.rq_psn = 77;
        attr.max_dest_rd_atomic = 4;
        attr.min_rnr_timer = 1;
        attr.ah_is_global = attr.ah_port_num = 1;
        std::memcpy(attr.grh_dgid, gid_of(peer).bytes.data(), sizeof attr.grh_dgid);
        ResolvedPath path;
        path.source = gid_of(number_);
        path.source_mac.bytes = {2, 0, 0, 0, 0, number_};
        path.destination_mac.bytes = {2, 0, 0, 0, 0, peer};
        ASSERT_EQ(modify(qp, kRtrMask, attr, &path), 0);
    }
    void to_rts(const TestQp& qp) {
        vroce_qp_attr attr{};
        attr.qp_state = static_cast<std::uint32_t>(QpState::Rts);
        attr.timeout = 10;
        attr.retry_cnt = attr.rnr_retry = 7;
        attr.sq_psn = 77;
        attr.max_rd_atomic = 4;
        ASSERT_EQ(modify(qp, kRtsMask, attr), 0);
    }

    void post_send(TestQp& qp, vroce_send_wqe wqe, const std::vector<vroce_sge>& sges) {
        wqe.sge_count = static_cast<std::uint16_t>(sges.size());
        qp.rings.post_send(qp.sent++, wqe, sges);
        ring(qp);
    }
    void post_receive(TestQp& qp, std::uint64_t wr_id, const std::vector<vroce_sge>& sges) {
        const vroce_recv_wqe wqe{wr_id, static_cast<std::uint32_t>(sges.size()), 0};
        std::uint8_t* slot = qp.rings.rq.data() + qp.received++ % QpMemory::kSlots * QpMemory::kRqStride;
        std::memcpy(slot, &wqe, sizeof wqe);
        if (!sges.empty()) std::memcpy(slot + sizeof wqe, sges.data(), sges.size() * sizeof(vroce_sge));
        qp.rings.control.rq_producer = qp.received;
    }
    void ring(const TestQp& qp) {
        doorbells.leaf[qp.slot / 64] |= std::uint64_t{1} << qp.slot % 64;
        doorbells.summary[qp.slot / 64 / 64] |= std::uint64_t{1} << qp.slot / 64 % 64;
    }
    /// Completions that nobody has polled yet.
    std::vector<vroce_cqe> poll() {
        std::vector<vroce_cqe> out;
        const auto slots = static_cast<std::uint32_t>(cq_memory.entries.size());
        std::uint32_t& consumer = cq_memory.control.consumer;
        while (cq_memory.entries[consumer % slots].phase == consumer / slots + 1)
            out.push_back(cq_memory.entries[consumer++ % slots]);
        return out;
    }
    [[nodiscard]] std::uint64_t count(DeviceCounter counter) const { return device.counters()[counter]; }

    Instant now{1'000'000'000};
    SlabPool pool{512};
    std::uint8_t number_;
    Engine engine;
    vroce_doorbell_page doorbells{};
    RecordingEvents events;
    CqMemory cq_memory{64};
    Device device;
    Context* context = nullptr;
    Copier* copier = nullptr;
    std::uint32_t pd = 0;
    std::uint32_t cq = 0;
    std::uint32_t last_mr = 0;

private:
    static std::function<std::uint32_t()> random(std::uint64_t seed) {
        return [from = Random(seed)]() mutable { return static_cast<std::uint32_t>(from.next_u64()); };
    }
};

/// Lets both work, and carries their frames, until nothing moves.
inline void run(Host& a, Host& b) {
    const auto side = [](Host& from, Host& to) {
        bool moved = from.device.scan_doorbells(from.now);
        moved = from.device.collect_copies(from.now) || moved;
        if (from.copier != nullptr && !from.copier->idle()) {
            std::this_thread::yield();
            moved = true;
        }
        std::array<Packet*, 32> burst{};
        const std::size_t count = from.engine.transmit(from.now, burst);
        to.engine.receive(to.now, std::span(burst).first(count));
        return moved || count != 0;
    };
    for (bool moved = true; moved;) {
        moved = side(a, b);
        moved = side(b, a) || moved;
    }
}

}  // namespace vroce::nic
