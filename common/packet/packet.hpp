// A frame in memory, and where frames come from. Under DPDK a Packet is the private area of its mbuf; in tests and in
// the simulator it is a slab's slot. The cores see only this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/time.hpp"

namespace vroce {

/// What a process knows about a frame that is not on the wire. Exactly one cache line; half of it is free.
struct alignas(64) Meta {
    std::uint16_t in_port = 0;   ///< port index the frame came by
    std::uint16_t out_port = 0;  ///< port index it will leave by
    std::uint16_t vlan = 0;      ///< VLAN it travels in (1..4094), after ingress classification
    std::uint8_t traffic_class = 0;
    std::uint8_t queue = 0;     ///< egress queue 0..7
    std::uint8_t priority = 0;  ///< PFC priority 0..7
    std::uint8_t flags = 0;
    std::uint16_t l3_offset = 0;       ///< bytes from data to the IP header, 0 when not parsed
    std::uint32_t charge_bytes = 0;    ///< buffer manager's: what admission took, what release gives back
    std::uint16_t charge_holders = 0;  ///< from whom
    std::uint16_t charge_share = 0;    ///< and with which other copies of the same frame; 0: with none
    Instant time;                      ///< arrival, or release time while it is held
};
static_assert(sizeof(Meta) == 64);

class PacketPool;

/// One contiguous frame without FCS. `data` may be moved within the buffer by push/pull; >= 192 bytes of it are
/// writable.
struct alignas(64) Packet {
    std::uint8_t* data = nullptr;
    std::uint32_t length = 0;    ///< bytes valid from data
    std::uint32_t headroom = 0;  ///< bytes free before data
    std::uint32_t tailroom = 0;  ///< bytes free after data + length
    std::uint32_t reserved = 0;
    PacketPool* pool = nullptr;  ///< who takes it back
    Packet* next = nullptr;      ///< for intrusive queues of whoever owns the packet
    std::uint8_t padding[24] = {};
    Meta meta;

    std::span<std::uint8_t> bytes() { return {data, length}; }
    std::span<const std::uint8_t> bytes() const { return {data, length}; }

    /// Makes room for n bytes in front; precondition: headroom >= n.
    std::uint8_t* push(std::uint32_t n) {
        data -= n;
        headroom -= n;
        length += n;
        return data;
    }
    /// Takes n bytes off the front; precondition: length >= n.
    void pull(std::uint32_t n) {
        data += n;
        headroom += n;
        length -= n;
    }
    /// Sets the length; precondition: n <= length + tailroom.
    void resize(std::uint32_t n) {
        tailroom += length;
        tailroom -= n;
        length = n;
    }
};
static_assert(sizeof(Packet) == 128);

/// Where packets are taken from and given back to. One owner thread, except where an implementation says otherwise.
class PacketPool {
public:
    virtual ~PacketPool() = default;
    /// An empty packet with >= 128 bytes of headroom, or nullptr when the pool is empty (counted by the pool).
    [[nodiscard]] virtual Packet* alloc() = 0;
    virtual void free(Packet* packet) = 0;
    /// Largest frame that a packet of this pool can hold, bytes.
    [[nodiscard]] virtual std::uint32_t max_frame_bytes() const = 0;
    /// Packets that can still be allocated, approximately.
    [[nodiscard]] virtual std::size_t available() const = 0;

    /// A copy with its own head and the same meta, or nullptr when the pool is empty.
    [[nodiscard]] Packet* clone(const Packet& packet) {
        Packet* copy = alloc();
        if (copy == nullptr) return nullptr;
        copy->resize(packet.length);
        std::memcpy(copy->data, packet.data, packet.length);
        copy->meta = packet.meta;
        return copy;
    }
};

inline void release(Packet* packet) {
    packet->pool->free(packet);
}

}  // namespace vroce
