// A queue pair as the application shares it: the rings behind the transport's questions (QpEnv). Everything read from a
// ring is copied once and the copy is checked.
#pragma once

#include <cstdint>

#include "nic/device/completion_queue.hpp"
#include "nic/device/device_counters.hpp"
#include "nic/device/qp_parameters.hpp"
#include "nic/device/segments.hpp"
#include "nic/memory/copier.hpp"
#include "nic/memory/mr_table.hpp"
#include "nic/transport/qp_env.hpp"
#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

struct WorkRing {
    std::uint8_t* base = nullptr;
    std::uint32_t slots = 0;   ///< power of two
    std::uint32_t stride = 0;  ///< bytes
};

struct QpShape {
    PdId pd = 0;
    vroce_qp_control* control = nullptr;
    WorkRing sq;
    WorkRing rq;
    std::uint32_t max_send_sge = 0;
    std::uint32_t max_recv_sge = 0;
    std::uint32_t max_inline = 0;
    std::uint32_t slot = 0;
    std::uint64_t user_handle = 0;
    bool signal_all = false;
};

/// What the queue pairs of one context have in common. All must outlive them.
struct QpSurroundings {
    MrTable& regions;
    AddressSpace& memory;
    Copier* copier;  ///< behind `memory`, when copies can be Pending
    EventSink& events;
    DeviceCounters& counters;
    const std::uint64_t& now_ns;
};

class QueuePair final : public QpEnv {
public:
    QueuePair(const QpShape& shape, CompletionQueue& send_cq, CompletionQueue& recv_cq, const QpSurroundings& around)
        : shape_(shape), send_cq_(&send_cq), recv_cq_(&recv_cq), around_(around) {}

    bool fetch_send(std::uint32_t index, SendWqe& out, bool& valid) override;
    CopyResult gather(const SendWqe& wqe, std::uint64_t offset, RoomSlices slices) override;
    CopyResult scatter_read(const SendWqe& wqe, std::uint64_t offset, ByteSlices slices, bool last) override;
    bool fetch_recv(std::uint32_t index, RecvWqe& out, bool& valid) override;
    CopyResult scatter_recv(const RecvWqe& wqe, std::uint64_t offset, ByteSlices slices, bool last) override;
    RemoteAccess check_remote(std::uint32_t rkey, std::uint64_t va, std::uint64_t length,
                              std::uint32_t access) override;
    CopyResult write_remote(std::uint32_t rkey, std::uint64_t va, ByteSlices slices, bool last) override;
    CopyResult read_remote(std::uint32_t rkey, std::uint64_t va, RoomSlices slices) override;
    bool complete(const Completion& completion) override;
    void async_event(AsyncEventType type) override;
    void state_changed(QpState state) override;

    std::uint32_t qpn = 0;
    vroce_qp_attr attr{};  ///< as ibv_query_qp tells it
    ResolvedPath path;     ///< to the peer, from RTR on

    [[nodiscard]] const QpShape& shape() const { return shape_; }
    [[nodiscard]] CompletionQueue& send_cq() { return *send_cq_; }
    [[nodiscard]] CompletionQueue& recv_cq() { return *recv_cq_; }
    [[nodiscard]] std::uint32_t async_events() const { return async_events_; }

private:
    [[nodiscard]] bool local_segments(const vroce_sge* sges, std::uint32_t count, std::uint64_t offset,
                                      std::uint64_t length, std::uint32_t access, Segments& out);
    [[nodiscard]] bool remote_segment(std::uint32_t rkey, std::uint64_t va, std::uint64_t length, std::uint32_t access,
                                      Segments& out);
    [[nodiscard]] CopyResult scatter(const vroce_sge* sges, std::uint32_t count, std::uint64_t offset,
                                     ByteSlices slices, bool last);
    [[nodiscard]] CopyResult read(const Segments& segments, RoomSlices slices);
    [[nodiscard]] CopyResult write(const Segments& segments, ByteSlices slices, bool last);
    void refuse(DeviceCounter kind, bool sane);

    QpShape shape_;
    CompletionQueue* send_cq_;
    CompletionQueue* recv_cq_;
    QpSurroundings around_;
    std::uint32_t async_events_ = 0;
};

}  // namespace vroce::nic
