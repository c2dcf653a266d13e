#include "common/dpdk/mbuf_pool.hpp"

#include <rte_errno.h>
#include <rte_lcore.h>

#include <algorithm>

namespace vroce {

namespace {
/// Packets that a worker keeps by itself; DPDK wants half as much again to be left in the pool.
constexpr unsigned kCacheMax = 256;
}  // namespace

static_assert(alignof(Packet) == 64 && sizeof(rte_mbuf) % 64 == 0);

Result<std::unique_ptr<MbufPool>> MbufPool::create(const std::string& name, unsigned count,
                                                   std::uint32_t max_frame_bytes) {
    const std::uint32_t room = (kHeadroomBytes + max_frame_bytes + 63) / 64 * 64;
    if (room > UINT16_MAX) return Error{"a frame of " + std::to_string(max_frame_bytes) + " bytes is too large"};
    // nearly_empty() asks the ring behind the pool, so that kind of pool it is, whatever the platform likes best.
    rte_mempool* mempool =
        rte_pktmbuf_pool_create_by_ops(name.c_str(), count, std::min(kCacheMax, count / 2), sizeof(Packet),
                                       static_cast<std::uint16_t>(room), SOCKET_ID_ANY, "ring_mp_mc");
    if (mempool == nullptr)
        return Error{"no memory for " + std::to_string(count) + " packet buffers of " + std::to_string(room) +
                     " bytes (" + rte_strerror(rte_errno) + "): give the process more with --memory-mib"};
    return std::unique_ptr<MbufPool>(new MbufPool(mempool, count, max_frame_bytes));
}

MbufPool::~MbufPool() {
    rte_mempool_free(mempool_);
}

Packet* MbufPool::alloc() {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(mempool_);
    if (mbuf == nullptr) {
        ++alloc_failures_;
        return nullptr;
    }
    return adopt(mbuf);
}

}  // namespace vroce
