// Bytes as frames to a switch of four ports, access, trunk and mixed, each trusting another mark: nothing crashes, no
// frame is lost without a reason or kept for ever.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/packet/slab_pool.hpp"
#include "switch/core/switch.hpp"

namespace {

using namespace vroce;

class SinkPort final : public Port {
public:
    std::size_t receive(std::span<Packet*>) override { return 0; }
    std::size_t send(std::span<Packet* const> packets) override {
        for (Packet* packet : packets) release(packet);
        return packets.size();
    }
    bool link_up() const override { return true; }
};

/// Every map is in use, and priority 3 is lossless.
sw::PortQosConfig make_qos(sw::Trust trust) {
    sw::PortQosConfig qos;
    qos.ingress.trust = trust;
    qos.ingress.pcp_to_tc = sw::identity_map<sw::kPcps>();
    for (std::size_t dscp = 0; dscp < sw::kDscps; ++dscp) {
        qos.ingress.dscp_to_tc[dscp] = static_cast<std::uint8_t>(dscp % sw::kTrafficClasses);
    }
    qos.remark.pcp = true;
    qos.remark.dscp = true;
    for (std::size_t tc = 0; tc < sw::kTrafficClasses; ++tc) {
        qos.remark.tc_to_pcp[tc] = static_cast<std::uint8_t>(7 - tc);
        qos.remark.tc_to_dscp[tc] = static_cast<std::uint8_t>(63 - tc);
    }
    qos.flow_control.pfc_enable = 1 << 3;
    return qos;
}

sw::ConfigSnapshot make_config() {
    auto config = std::make_shared<sw::SwitchConfig>();
    for (int i = 0; i < 4; ++i) {
        sw::PortConfig port;
        port.name = "Ethernet" + std::to_string(i);
        port.mtu_bytes = 1'500;
        port.qos = make_qos(static_cast<sw::Trust>(i + 1));
        config->ports.push_back(port);
    }
    config->pfc_in_use = true;
    config->vlans.add_member(10, 0, false);
    config->vlans.add_member(10, 1, true);
    config->vlans.add_member(20, 1, true);
    config->vlans.add_member(20, 2, false);
    config->vlans.add_member(10, 3, false);
    config->vlans.add_member(20, 3, true);
    return config;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    SlabPool pool(256, 4'400);
    {
        SinkPort ports[4];
        sw::Switch bridge(make_config(), 1);
        for (sw::PortId i = 0; i < 4; ++i) {
            bridge.attach(i, ports[i], pool);
            bridge.set_link(Instant{}, i, true);
        }
        Instant now = Instant{} + seconds(1);
        while (size >= 2) {
            const auto port = static_cast<sw::PortId>(data[0] % 4);
            std::size_t bytes = (static_cast<std::size_t>(data[0]) << 8 | data[1]) % 4'400;
            data += 2;
            size -= 2;
            if (bytes > size) bytes = size;
            Packet* packet = pool.alloc();
            if (packet == nullptr) std::abort();
            packet->resize(static_cast<std::uint32_t>(bytes));
            std::memcpy(packet->data, data, bytes);
            bridge.receive(now, port, packet);
            now += milliseconds(1);
            static_cast<void>(bridge.transmit(now));
            bridge.on_timeout(now);
            data += bytes;
            size -= bytes;
        }
    }
    if (pool.in_use() != 0) std::abort();
    return 0;
}
