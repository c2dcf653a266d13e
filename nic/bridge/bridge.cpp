#include "nic/bridge/bridge.hpp"

#include <algorithm>
#include <utility>

#include "nic/bridge/announcement.hpp"
#include "nic/bridge/vlan_tag.hpp"
#include "nic/wire/frame.hpp"

namespace vroce::nic {
namespace {

constexpr std::uint8_t kProtocolUdp = 17;
constexpr std::uint32_t kIpv4Bytes = 20;
constexpr std::uint32_t kIpv6Bytes = 40;
constexpr std::uint32_t kUdpBytes = 8;

std::uint64_t key_of(const std::uint8_t* mac, std::uint16_t vlan) {
    return std::uint64_t{vlan} << 48 | std::uint64_t{load_be16(mac)} << 32 | load_be32(mac + 2);
}

bool is_group(const std::uint8_t* mac) {
    return (mac[0] & 1) != 0;
}

}  // namespace

Bridge::Bridge(std::vector<BridgeEndpoint> endpoints, std::uint32_t mtu, PacketPool& pool, BridgeSink& sink)
    : endpoints_(std::move(endpoints)), max_untagged_bytes_(mtu + kEthernetBytes), pool_(pool), sink_(sink) {
    for (const BridgeEndpoint& e : endpoints_) keys_.push_back(key_of(e.mac.bytes.data(), e.vlan));
}

void Bridge::from_wire(Packet* packet) {
    counters_.add(BridgeCounter::FromWire);
    if (packet->length < kEthernetBytes) return drop(BridgeCounter::DropRunt, packet);
    if (ether_type(*packet) == kEtherTypeMacControl) return drop(BridgeCounter::DropMacControl, packet);
    std::uint16_t vlan = 0;
    if (is_tagged(*packet)) {
        if (packet->length < kEthernetBytes + kVlanTagBytes) return drop(BridgeCounter::DropRunt, packet);
        vlan = load_be16(packet->data + 14) & 0x0FFF;
        take_tag_off(*packet);
        // A tag behind the tag belongs to nobody here.
        if (is_tagged(*packet)) return drop(BridgeCounter::DropUnknownVlan, packet);
    }
    if (!anybody_in(vlan)) return drop(BridgeCounter::DropUnknownVlan, packet);
    if (find(packet->data + 6, vlan) != kNobody) return drop(BridgeCounter::DropOwnSource, packet);
    if (packet->length > max_untagged_bytes_) return drop(BridgeCounter::DropOversize, packet);
    if (is_group(packet->data)) {
        flood(vlan, kNobody, *packet);
        return release(packet);
    }
    const std::size_t owner = find(packet->data, vlan);
    if (owner == kNobody) return drop(BridgeCounter::DropUnknownMac, packet);
    deliver(owner, packet);
}

void Bridge::from_tap(std::size_t endpoint, Packet* packet) {
    counters_.add(BridgeCounter::FromTap);
    const BridgeEndpoint& from = endpoints_[endpoint];
    if (packet->length < kEthernetBytes) return drop(BridgeCounter::DropRunt, packet);
    if (is_tagged(*packet)) return drop(BridgeCounter::DropTapTagged, packet);
    if (ether_type(*packet) == kEtherTypeMacControl) return drop(BridgeCounter::DropMacControl, packet);
    if (!std::equal(from.mac.bytes.begin(), from.mac.bytes.end(), packet->data + 6)) {
        return drop(BridgeCounter::DropTapSource, packet);
    }
    if (packet->length > max_untagged_bytes_) return drop(BridgeCounter::DropOversize, packet);
    if (is_group(packet->data)) {
        flood(from.vlan, endpoint, *packet);
    } else if (const std::size_t owner = find(packet->data, from.vlan); owner != kNobody) {
        return deliver(owner, packet);
    }
    if (from.vlan != 0) put_tag_on(*packet, from.vlan, priority_of(*packet));
    send_to_wire(packet);
}

void Bridge::from_engine(Packet* packet) {
    counters_.add(BridgeCounter::FromEngine);
    const bool tagged = is_tagged(*packet);
    const std::uint16_t vlan = tagged ? load_be16(packet->data + 14) & 0x0FFF : 0;
    if (packet->length > max_untagged_bytes_ + (tagged ? kVlanTagBytes : 0)) {
        return drop(BridgeCounter::DropOversize, packet);
    }
    const std::size_t owner = is_group(packet->data) ? kNobody : find(packet->data, vlan);
    if (owner == kNobody) return send_to_wire(packet);
    if (tagged) take_tag_off(*packet);
    deliver(owner, packet);
}

void Bridge::deliver(std::size_t endpoint, Packet* packet) {
    if (is_own_roce(endpoints_[endpoint].vlan, *packet)) {
        packet->meta.l3_offset = kEthernetBytes;
        counters_.add(BridgeCounter::ToEngine);
        return sink_.to_engine(packet);
    }
    counters_.add(BridgeCounter::ToTap);
    sink_.to_tap(endpoint, packet);
}

/// Copies for every interface of the VLAN but `except`.
void Bridge::flood(std::uint16_t vlan, std::size_t except, const Packet& packet) {
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
        if (endpoints_[i].vlan != vlan || i == except) continue;
        Packet* copy = pool_.clone(packet);
        if (copy == nullptr) {
            counters_.add(BridgeCounter::DropNoPacket);
            continue;
        }
        counters_.add(BridgeCounter::Copies);
        counters_.add(BridgeCounter::ToTap);
        sink_.to_tap(i, copy);
    }
}

void Bridge::send_to_wire(Packet* packet) {
    counters_.add(BridgeCounter::ToWire);
    sink_.to_wire(packet);
}

void Bridge::drop(BridgeCounter reason, Packet* packet) {
    counters_.add(reason);
    release(packet);
}

void Bridge::set_addresses(std::size_t endpoint, std::vector<Gid> addresses) {
    endpoints_[endpoint].addresses = std::move(addresses);
}

void Bridge::announce() {
    for (const BridgeEndpoint& endpoint : endpoints_) {
        for (const Gid& address : endpoint.addresses) announce_address(endpoint, address);
    }
}

void Bridge::announce_address(const BridgeEndpoint& endpoint, const Gid& address) {
    Packet* packet = pool_.alloc();
    if (packet == nullptr) return counters_.add(BridgeCounter::DropNoPacket);
    std::array<std::uint8_t, kAnnouncementBytesMax> frame{};
    const std::size_t bytes = write_announcement(frame, endpoint.mac, address);
    packet->resize(static_cast<std::uint32_t>(bytes));
    std::copy_n(frame.begin(), bytes, packet->data);
    if (endpoint.vlan != 0) put_tag_on(*packet, endpoint.vlan, 0);
    counters_.add(BridgeCounter::Announcements);
    send_to_wire(packet);
}

std::size_t Bridge::find(const std::uint8_t* mac, std::uint16_t vlan) const {
    const std::uint64_t key = key_of(mac, vlan);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        if (keys_[i] == key) return i;
    }
    return kNobody;
}

bool Bridge::anybody_in(std::uint16_t vlan) const {
    return std::any_of(endpoints_.begin(), endpoints_.end(), [&](const auto& e) { return e.vlan == vlan; });
}

/// RoCE v2 (annex A17): UDP to port 4791 without IP options, extension headers or fragments. Other frames to that port
/// are the kernel's, which answers as it does for a closed one.
bool Bridge::is_own_roce(std::uint16_t vlan, const Packet& packet) const {
    const std::uint8_t* ip = packet.data + kEthernetBytes;
    const std::uint32_t bytes = packet.length - kEthernetBytes;
    Gid to;
    const std::uint8_t* udp = nullptr;
    if (ether_type(packet) == kEtherTypeIpv4) {
        if (bytes < kIpv4Bytes + kUdpBytes || ip[0] != 0x45 || ip[9] != kProtocolUdp) return false;
        if ((load_be16(ip + 6) & 0x3FFF) != 0) return false;  // MF or an offset
        to.bytes[10] = to.bytes[11] = 0xFF;
        std::copy_n(ip + 16, 4, to.bytes.begin() + 12);
        udp = ip + kIpv4Bytes;
    } else if (ether_type(packet) == kEtherTypeIpv6) {
        if (bytes < kIpv6Bytes + kUdpBytes || ip[0] >> 4 != 6 || ip[6] != kProtocolUdp) return false;
        std::copy_n(ip + 24, 16, to.bytes.begin());
        udp = ip + kIpv6Bytes;
    } else {
        return false;
    }
    return load_be16(udp + 2) == kRoceUdpPort && is_own_address(vlan, to);
}

/// Of any endpoint in the VLAN: a host with several interfaces in one network may have answered ARP with any of them.
/// The engine compares with the queue pair's own address.
bool Bridge::is_own_address(std::uint16_t vlan, const Gid& address) const {
    return std::any_of(endpoints_.begin(), endpoints_.end(), [&](const BridgeEndpoint& e) {
        return e.vlan == vlan && std::find(e.addresses.begin(), e.addresses.end(), address) != e.addresses.end();
    });
}

}  // namespace vroce::nic
