// Frames for the tests of the NIC's bridge, and a sink that remembers where they went.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/packet/slab_pool.hpp"
#include "nic/bridge/bridge.hpp"
#include "nic/bridge/vlan_tag.hpp"

namespace vroce::nic::test {

using Bytes = std::vector<std::uint8_t>;

inline MacAddress mac(std::uint8_t last) {
    return {{0x02, 0, 0, 0, 0, last}};
}
inline constexpr MacAddress kBroadcast{{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}};

inline Gid ipv4(std::uint8_t last) {
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, last}};
}
inline Gid ipv6(std::uint8_t last) {
    return {{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}

struct FrameSpec {
    MacAddress to;
    MacAddress from;
    int vlan = -1;  ///< -1: no tag
    std::uint16_t type = 0x0806;
    std::size_t payload = 46;
};

inline Bytes frame(const FrameSpec& spec) {
    Bytes out(spec.to.bytes.begin(), spec.to.bytes.end());
    out.insert(out.end(), spec.from.bytes.begin(), spec.from.bytes.end());
    const auto append = [&out](int value) {
        out.push_back(static_cast<std::uint8_t>(value >> 8));
        out.push_back(static_cast<std::uint8_t>(value));
    };
    if (spec.vlan >= 0) append(0x8100), append(spec.vlan);
    append(spec.type);
    for (std::size_t i = 0; i < spec.payload; ++i) out.push_back(static_cast<std::uint8_t>(i * 7 + 1));
    return out;
}

/// The smallest RoCE v2 frame as far as the bridge looks.
inline Bytes roce_frame(const MacAddress& to, const MacAddress& from, const Gid& address, int vlan = -1) {
    const bool v4 = address.is_ipv4();
    Bytes out = frame({to, from, vlan, static_cast<std::uint16_t>(v4 ? 0x0800 : 0x86DD), v4 ? 60u : 80u});
    std::uint8_t* ip = out.data() + (vlan >= 0 ? 18 : 14);
    std::memset(ip, 0, v4 ? 20 : 40);
    ip[0] = v4 ? 0x45 : 0x60;
    ip[v4 ? 9 : 6] = 17;
    if (v4) ip[6] = 0x40;  // DF
    std::copy(address.bytes.begin() + (v4 ? 12 : 0), address.bytes.end(), ip + (v4 ? 16 : 24));
    store_be16(ip + (v4 ? 22 : 42), 4791);
    return out;
}

class RecordingSink final : public BridgeSink {
public:
    void to_wire(Packet* packet) override { wire.push_back(take(packet)); }
    void to_tap(std::size_t endpoint, Packet* packet) override { taps.emplace_back(endpoint, take(packet)); }
    void to_engine(Packet* packet) override {
        EXPECT_EQ(packet->meta.l3_offset, 14);
        engine.push_back(take(packet));
    }
    [[nodiscard]] bool nothing() const { return wire.empty() && taps.empty() && engine.empty(); }
    void clear() {
        wire.clear();
        taps.clear();
        engine.clear();
    }

    std::vector<Bytes> wire;
    std::vector<std::pair<std::size_t, Bytes>> taps;
    std::vector<Bytes> engine;

private:
    static Bytes take(Packet* packet) {
        Bytes bytes(packet->data, packet->data + packet->length);
        release(packet);
        return bytes;
    }
};

}  // namespace vroce::nic::test
