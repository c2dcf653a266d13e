// A Port over any DPDK device: memif between our processes, af_packet, tap, a physical NIC.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/result.hpp"
#include "common/dpdk/doorbell.hpp"
#include "common/dpdk/mbuf_pool.hpp"
#include "common/packet/port.hpp"

namespace vroce {

struct EthdevPortOptions {
    std::string devargs;  ///< such as "net_memif0,role=client,socket=/run/x.memif"
    std::uint32_t max_frame_bytes = 9'216;
    /// Leaves the device to the process's end, where closing it would free what DPDK's interrupt thread still looks at.
    bool keep_device = false;
    std::uint16_t descriptors = 256;  ///< where the device lets us choose; memif: rsize
};

struct EthdevPortCounters {
    std::uint64_t rx_packets = 0;
    std::uint64_t rx_bytes = 0;
    std::uint64_t rx_no_buffer = 0;        ///< bursts not read because the pool was nearly empty
    std::uint64_t rx_multi_segment = 0;    ///< frames over several buffers: dropped, bsize is too small for the peer
    std::uint64_t peer_lost_in_burst = 0;  ///< the device vanished under a burst (memif unmaps from another thread)
    std::uint64_t restarts = 0;
};

class EthdevPort final : public Port {
public:
    /// Probes, configures and starts the device. For memif adds bsize, rsize=8, socket-abstract=no and id=0 where
    /// absent, and joins the doorbell beside the socket. Errors are one line.
    static Result<std::unique_ptr<EthdevPort>> open(const EthdevPortOptions& options, MbufPool& pool);
    ~EthdevPort() override;
    EthdevPort(const EthdevPort&) = delete;
    EthdevPort& operator=(const EthdevPort&) = delete;

    std::size_t receive(std::span<Packet*> out) override;
    std::size_t send(std::span<Packet* const> packets) override;
    bool link_up() const override { return link_up_; }
    int wake_fd() const override { return doorbell_ ? doorbell_->wake_fd() : -1; }
    void set_sleeping(bool sleeping) override {
        if (doorbell_) doorbell_->set_sleeping(sleeping);
    }
    void ring_doorbell() override {
        if (doorbell_) doorbell_->ring();
    }
    Instant next_poll(Instant now) const override;

    /// Worker, every few milliseconds: learns the link's state and restarts a client that lost its server. Returns true
    /// when the link changed.
    bool update_link(Instant now);
    /// Control thread: serve() it when fd() is readable, and every 100 ms. nullptr: no memif.
    [[nodiscard]] Doorbell* doorbell() { return doorbell_.get(); }
    [[nodiscard]] const EthdevPortCounters& counters() const { return counters_; }
    [[nodiscard]] std::uint16_t port_id() const { return port_id_; }

private:
    EthdevPort(MbufPool& pool, std::uint16_t port_id) : pool_(&pool), port_id_(port_id) {}
    Status start(const EthdevPortOptions& options);
    std::uint16_t guarded_rx(std::size_t room);
    std::uint16_t guarded_tx(std::uint16_t count);

    static constexpr std::size_t kBurst = 32;
    MbufPool* pool_;
    std::uint16_t port_id_;
    bool is_memif_ = false;
    bool is_client_ = false;
    bool link_up_ = false;
    bool started_ = false;
    bool keep_device_ = false;
    std::string server_socket_;  ///< memif server: the socket file, to be removed
    Instant next_restart_{};
    std::unique_ptr<Doorbell> doorbell_;
    std::array<rte_mbuf*, kBurst> burst_{};
    EthdevPortCounters counters_;
};

}  // namespace vroce
