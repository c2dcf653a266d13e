// Packets in DPDK's mbufs: the Packet is the mbuf's private area, so that one becomes the other by arithmetic.
#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <memory>
#include <span>
#include <string>

#include "common/base/result.hpp"
#include "common/packet/packet.hpp"

namespace vroce {

/// Owner thread: the worker (the mempool itself is safe for several). Sized by its owner never to empty (design D2).
class MbufPool final : public PacketPool {
public:
    static constexpr std::uint32_t kHeadroomBytes = RTE_PKTMBUF_HEADROOM;

    static Result<std::unique_ptr<MbufPool>> create(const std::string& name, unsigned count,
                                                    std::uint32_t max_frame_bytes);
    ~MbufPool() override;
    MbufPool(const MbufPool&) = delete;
    MbufPool& operator=(const MbufPool&) = delete;

    Packet* alloc() override;
    void free(Packet* packet) override { rte_pktmbuf_free_seg(to_mbuf(packet)); }
    std::uint32_t max_frame_bytes() const override { return max_frame_bytes_; }
    std::size_t available() const override { return rte_mempool_avail_count(mempool_); }
    /// True when less than 5 % is left: reading stops then, and is counted by the reader. What lies in the worker's
    /// cache is not counted, since rte_mempool_avail_count walks the caches of all possible lcores.
    [[nodiscard]] bool nearly_empty() const {
        return rte_ring_count(static_cast<const rte_ring*>(mempool_->pool_data)) < reserve_;
    }

    [[nodiscard]] rte_mempool* mempool() const { return mempool_; }
    [[nodiscard]] std::uint64_t alloc_failures() const { return alloc_failures_; }

    /// Fetches what adopt() writes and who gets the packet reads first.
    static void prefetch(rte_mbuf* mbuf) {
        auto* packet = static_cast<std::uint8_t*>(rte_mbuf_to_priv(mbuf));
        __builtin_prefetch(packet, 1);
        __builtin_prefetch(packet + offsetof(Packet, meta), 1);
        __builtin_prefetch(rte_pktmbuf_mtod(mbuf, void*));
    }
    /// A received mbuf as a packet. One segment (bsize holds the largest frame).
    Packet* adopt(rte_mbuf* mbuf) {
        Packet* packet = static_cast<Packet*>(rte_mbuf_to_priv(mbuf));
        packet->data = rte_pktmbuf_mtod(mbuf, std::uint8_t*);
        packet->length = mbuf->data_len;
        packet->headroom = mbuf->data_off;
        packet->tailroom = std::uint32_t{mbuf->buf_len} - mbuf->data_off - mbuf->data_len;
        packet->pool = this;
        packet->next = nullptr;
        packet->meta = Meta{};
        return packet;
    }
    static rte_mbuf* to_mbuf(Packet* packet) {
        return reinterpret_cast<rte_mbuf*>(reinterpret_cast<std::uint8_t*>(packet) - sizeof(rte_mbuf));
    }
    /// The mbuf, made to say what the packet says, ready for transmission.
    static rte_mbuf* prepare(Packet* packet) {
        rte_mbuf* mbuf = to_mbuf(packet);
        mbuf->data_off = static_cast<std::uint16_t>(packet->headroom);
        mbuf->data_len = static_cast<std::uint16_t>(packet->length);
        mbuf->pkt_len = packet->length;
        return mbuf;
    }

private:
    MbufPool(rte_mempool* mempool, unsigned count, std::uint32_t max_frame_bytes)
        : mempool_(mempool), reserve_(count / 20), max_frame_bytes_(max_frame_bytes) {}

    rte_mempool* mempool_;
    std::size_t reserve_;
    std::uint32_t max_frame_bytes_;
    std::uint64_t alloc_failures_ = 0;
};

}  // namespace vroce
