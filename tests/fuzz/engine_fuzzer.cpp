// Bytes as RoCE packets to an engine with a connected queue pair: whatever comes behind a correct address, key and ICRC
// must neither crash it nor leak a packet.
//
// Input: records of one length byte pair and that many bytes, each taken as everything from BTH on. The destination QP
// is put right in every second record, so that the fuzzer need not guess it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "common/packet/slab_pool.hpp"
#include "nic/transport/engine.hpp"
#include "nic/wire/frame_template.hpp"
#include "tests/protocol/kit/test_env.hpp"

namespace {

using namespace vroce;
using namespace vroce::nic;

constexpr std::size_t kTransportMax = 4'200;

QpAttributes attributes() {
    QpAttributes a;
    a.av.source.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
    a.av.destination.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2};
    a.destination_qpn = 0x99;
    a.path_mtu_bytes = 256;
    a.access = kAccessRemoteRead | kAccessRemoteWrite | kAccessLocalWrite;
    a.max_rd_atomic = a.max_dest_rd_atomic = 4;
    a.timeout = 10;
    a.retry_count = a.rnr_retry = 3;
    return a;
}

void drain(Engine& engine, Instant now) {
    Packet* out[32];
    for (int i = 0; i < 64; ++i) {
        const std::size_t count = engine.transmit(now, out);
        for (std::size_t p = 0; p < count; ++p) release(out[p]);
        if (count == 0) return;
    }
}

void deliver(Engine& engine, SlabPool& pool, Instant now, const std::uint8_t* transport, std::size_t bytes) {
    AddressVector from_peer;
    from_peer.source = attributes().av.destination;
    from_peer.destination = attributes().av.source;
    const FrameTemplate front(from_peer);
    Packet* packet = pool.alloc();
    if (packet == nullptr) return;
    packet->resize(static_cast<std::uint32_t>(front.transport_offset() + bytes + 4));
    front.write_front(packet->data, bytes);
    std::memcpy(packet->data + front.transport_offset(), transport, bytes);
    if (bytes >= 12) front.seal(packet->data, bytes);
    packet->meta.l3_offset = static_cast<std::uint16_t>(front.l3_offset());
    engine.receive(now, {&packet, 1});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    SlabPool pool(512, 4'400);
    {
        nic::test::TestEnv env;
        Engine engine(EngineConfig{}, pool);
        const std::uint32_t qpn = engine.create_qp(env, {16, 16, false});
        Instant now = Instant{} + seconds(1);
        for (const QpState state : {QpState::Init, QpState::Rtr, QpState::Rts})
            engine.modify_qp(now, qpn, state, attributes());
        for (int i = 0; i < 4; ++i) env.post_receive(600);
        env.post(WrOpcode::Write, std::vector<std::uint8_t>(1'000));
        env.post(WrOpcode::Read, std::vector<std::uint8_t>(700));
        engine.doorbell(now, qpn);
        bool aimed = true;
        while (size >= 2) {
            std::size_t bytes = (static_cast<std::size_t>(data[0]) << 8 | data[1]) % kTransportMax;
            data += 2;
            size -= 2;
            if (bytes > size) bytes = size;
            std::uint8_t transport[kTransportMax] = {};
            std::memcpy(transport, data, bytes);
            if (aimed && bytes >= 12)
                for (int i = 0; i < 3; ++i) transport[5 + i] = static_cast<std::uint8_t>(qpn >> (16 - 8 * i));
            aimed = !aimed;
            drain(engine, now);
            deliver(engine, pool, now, transport, bytes);
            drain(engine, now);
            data += bytes;
            size -= bytes;
            now += microseconds(5'000);
            engine.on_timeout(now);
        }
        engine.destroy_qp(qpn);
    }
    if (pool.in_use() != 0) std::abort();
    return 0;
}
