// The RoCE engine: all queue pairs of one worker. A machine without I/O: it is given packets, doorbells and the time,
// and gives packets, completions (through each QP's QpEnv) and its next deadline. Nothing in it walks all QPs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/time.hpp"
#include "common/packet/packet.hpp"
#include "nic/transport/qp_env.hpp"
#include "nic/transport/types.hpp"

namespace vroce::nic {

struct EngineConfig {
    std::uint64_t qp_window_bytes = 1024 * 1024;    ///< request bytes in flight per QP (design D11f)
    std::uint64_t port_window_bytes = 1024 * 1024;  ///< and of all QPs together
    std::uint32_t quantum_packets = 16;             ///< a QP's turn in the round robin
    std::uint64_t seed = 1;                         ///< QP numbers
};

struct QpLimits {
    std::uint32_t send_slots = 0;  ///< ring sizes, powers of two
    std::uint32_t recv_slots = 0;
    bool signal_all = false;
};

/// What ibv_query_qp wants to know of the running state.
struct QpStatus {
    QpState state = QpState::Reset;
    bool sq_draining = false;
    std::uint32_t sq_psn = 0;  ///< next PSN to be sent
    std::uint32_t rq_psn = 0;  ///< next PSN expected
};

struct EngineCounters;  // engine_counters.hpp: one named field per event, with a label table

class Engine {
public:
    Engine(const EngineConfig& config, PacketPool& pool);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Makes a QP in Reset; `env` must outlive it. Returns its number (24 bits, never 0 or 1, not reused at once), or 0
    /// when there is none left.
    [[nodiscard]] std::uint32_t create_qp(QpEnv& env, const QpLimits& limits);
    /// In any state; outstanding work vanishes without completions.
    void destroy_qp(std::uint32_t qpn);
    /// The transition itself; which attributes it needs was checked by the device layer. Attributes in `attributes`
    /// are the complete present set. To Err: everything outstanding is flushed through QpEnv::complete.
    void modify_qp(Instant now, std::uint32_t qpn, QpState to, const QpAttributes& attributes);
    [[nodiscard]] QpStatus query_qp(std::uint32_t qpn) const;

    /// RoCE v2 frames in the order they came, each from its Ethernet header on (FCS stripped), IP header at
    /// meta.l3_offset. Takes ownership. What they bring has landed, or is being copied elsewhere, when this returns;
    /// the more of them come in one call, the fewer copies it takes.
    void receive(Instant now, std::span<Packet* const> packets);
    /// New send work requests were posted to this QP (in Err: they are flushed; also call it for posted receives in
    /// Err).
    void doorbell(Instant now, std::uint32_t qpn);
    /// A copy that QpEnv answered with Pending has ended.
    void on_copy_done(Instant now, std::uint32_t qpn, CopyDirection direction, bool ok);
    /// Lets timers expire. Call it only after the receive rings were drained in this iteration (D11f).
    void on_timeout(Instant now);
    /// Builds up to out.size() frames, complete with ICRC, in the order they must leave; the caller owns them.
    [[nodiscard]] std::size_t transmit(Instant now, std::span<Packet*> out);
    /// When on_timeout or transmit has something to do next; an instant <= now means at once.
    [[nodiscard]] Instant next_deadline() const;

    [[nodiscard]] const EngineCounters& counters() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vroce::nic
