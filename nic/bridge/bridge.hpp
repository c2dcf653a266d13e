// The Ethernet inside the NIC (design D13): one wire, one IP interface (TAP) for each endpoint, one RoCE engine for
// all.
//
//    wire ──┐   ┌── TAP of endpoint 0, 1, …      unicast goes to its owner: RoCE v2 to an address of the endpoint to
//    the
//         bridge                                 engine, all else to the TAP; groups are copied to everybody but the
//         sender
//   engine ─┘                                    VLAN tags exist on the wire only; inside, the endpoint's setting
//   counts
//
// A machine without I/O: where frames go is told to a sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/packet/packet.hpp"
#include "nic/bridge/bridge_counters.hpp"
#include "nic/wire/address.hpp"

namespace vroce::nic {

/// Takes the frames that leave the bridge, and owns them from then on.
class BridgeSink {
public:
    virtual ~BridgeSink() = default;
    virtual void to_wire(Packet* packet) = 0;
    virtual void to_tap(std::size_t endpoint, Packet* packet) = 0;
    /// Untagged, IP header at meta.l3_offset.
    virtual void to_engine(Packet* packet) = 0;
};

struct BridgeEndpoint {
    MacAddress mac;
    std::uint16_t vlan = 0;      ///< 0: untagged
    std::vector<Gid> addresses;  ///< RoCE to any of them is the engine's
};

class Bridge {
public:
    /// `mtu` is that of the IP interfaces: a frame may be 14 bytes larger, and 4 more with a tag.
    Bridge(std::vector<BridgeEndpoint> endpoints, std::uint32_t mtu, PacketPool& pool, BridgeSink& sink);

    // Each takes ownership of the packet.
    void from_wire(Packet* packet);
    void from_tap(std::size_t endpoint, Packet* packet);
    /// Complete frames, with a tag where the address vector has a VLAN.
    void from_engine(Packet* packet);

    void set_addresses(std::size_t endpoint, std::vector<Gid> addresses);
    /// Tells the wire where the endpoints' addresses live; RDMA traffic never touches the kernel's ARP, and a switch
    /// forgets who is silent.
    void announce();

    [[nodiscard]] const std::vector<BridgeEndpoint>& endpoints() const { return endpoints_; }
    [[nodiscard]] const BridgeCounters& counters() const { return counters_; }

private:
    static constexpr std::size_t kNobody = SIZE_MAX;

    void deliver(std::size_t endpoint, Packet* packet);
    void flood(std::uint16_t vlan, std::size_t except, const Packet& packet);
    void send_to_wire(Packet* packet);
    void drop(BridgeCounter reason, Packet* packet);
    [[nodiscard]] std::size_t find(const std::uint8_t* mac, std::uint16_t vlan) const;
    [[nodiscard]] bool anybody_in(std::uint16_t vlan) const;
    [[nodiscard]] bool is_own_roce(std::uint16_t vlan, const Packet& packet) const;
    [[nodiscard]] bool is_own_address(std::uint16_t vlan, const Gid& address) const;
    void announce_address(const BridgeEndpoint& endpoint, const Gid& address);

    std::vector<BridgeEndpoint> endpoints_;
    std::vector<std::uint64_t> keys_;  ///< of endpoints_, in order: VLAN and MAC in one word
    std::uint32_t max_untagged_bytes_;
    PacketPool& pool_;
    BridgeSink& sink_;
    BridgeCounters counters_;
};

}  // namespace vroce::nic
