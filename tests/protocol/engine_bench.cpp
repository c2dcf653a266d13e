// How fast the engine is by itself: two of them back to back in one thread, with plain copies for memory, so that
// nothing but the transport, the ICRC and two copies is measured; in processor time, since machines are shared.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "common/packet/slab_pool.hpp"
#include "nic/transport/engine.hpp"
#include "nic/transport/engine_counters.hpp"
#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

/// Posts the same work request again and again, `ahead` of its completions.
class LoopEnv final : public QpEnv {
public:
    LoopEnv(WrOpcode opcode, std::size_t bytes, std::uint64_t total, std::uint32_t ahead)
        : opcode_(opcode), memory_(std::max<std::size_t>(bytes, 64)), bytes_(bytes), total_(total), ahead_(ahead) {}

    bool fetch_send(std::uint32_t index, SendWqe& out, bool& valid) override {
        if (index >= total_ || index >= completed_ + ahead_) return false;
        out = {.wr_id = index, .length = bytes_, .index = index, .opcode = opcode_, .flags = kSendSignaled};
        valid = true;
        return true;
    }
    CopyResult gather(const SendWqe&, std::uint64_t offset, RoomSlices slices) override {
        for (const auto& slice : slices) {
            std::memcpy(slice.data(), memory_.data() + offset, slice.size());
            offset += slice.size();
        }
        return CopyResult::Done;
    }
    CopyResult scatter_read(const SendWqe&, std::uint64_t offset, ByteSlices slices, bool) override {
        return put(slices, offset);
    }
    bool fetch_recv(std::uint32_t index, RecvWqe& out, bool& valid) override {
        out = {.wr_id = index, .length = bytes_, .index = index};
        valid = true;
        return true;
    }
    CopyResult scatter_recv(const RecvWqe&, std::uint64_t offset, ByteSlices slices, bool) override {
        return put(slices, offset);
    }
    RemoteAccess check_remote(std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t) override {
        return RemoteAccess::Ok;
    }
    CopyResult write_remote(std::uint32_t, std::uint64_t va, ByteSlices slices, bool) override {
        return put(slices, va);
    }
    CopyResult read_remote(std::uint32_t, std::uint64_t va, RoomSlices slices) override {
        return gather({}, va, slices);
    }
    bool complete(const Completion&) override {
        ++completed_;
        return true;
    }
    void async_event(AsyncEventType) override {}
    void state_changed(QpState) override {}

    [[nodiscard]] std::uint64_t completed() const { return completed_; }

private:
    CopyResult put(ByteSlices slices, std::uint64_t offset) {
        for (const auto& slice : slices) {
            std::memcpy(memory_.data() + offset, slice.data(), slice.size());
            offset += slice.size();
        }
        return CopyResult::Done;
    }

    WrOpcode opcode_;
    std::vector<std::uint8_t> memory_;
    std::size_t bytes_;
    std::uint64_t total_;
    std::uint32_t ahead_;
    std::uint64_t completed_ = 0;
};

struct Pair {
    Engine engine;
    LoopEnv env;
    std::uint32_t qpn;
    Pair(PacketPool& pool, WrOpcode opcode, std::size_t bytes, std::uint64_t total)
        : engine({}, pool), env(opcode, bytes, total, 128), qpn(engine.create_qp(env, {})) {}
};

void connect(Pair& from, std::uint32_t to, bool first) {
    QpAttributes attributes;
    attributes.av = address_vector(false, first ? 1 : 2, first ? 2 : 1);
    attributes.destination_qpn = to;
    attributes.path_mtu_bytes = 4'096;
    attributes.access = kAccessRemoteRead | kAccessRemoteWrite;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 16;
    attributes.timeout = 14;
    attributes.retry_count = 7;
    for (const QpState state : {QpState::Init, QpState::Rtr, QpState::Rts})
        from.engine.modify_qp(Instant{0}, from.qpn, state, attributes);
}

void measure(const char* name, WrOpcode opcode, std::size_t bytes, std::uint64_t total) {
    SlabPool pool(1'024, 4'300);
    Pair a(pool, opcode, bytes, total);
    Pair b(pool, opcode, bytes, 0);
    connect(a, b.qpn, true);
    connect(b, a.qpn, false);
    const std::clock_t start = std::clock();
    Packet* burst[32];
    for (std::int64_t now = 1; a.env.completed() < total; ++now) {
        const Instant instant{now * 1'000};
        b.engine.receive(instant, std::span(burst).first(a.engine.transmit(instant, burst)));
        a.engine.receive(instant, std::span(burst).first(b.engine.transmit(instant, burst)));
    }
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%-24s %8.2f M messages/s %8.2f GB/s\n", name, static_cast<double>(total) / took / 1e6,
                static_cast<double>(total * bytes) / took / 1e9);
}

}  // namespace
}  // namespace vroce::nic::test

int main() {
    using vroce::nic::WrOpcode;
    using vroce::nic::test::measure;
    measure("write 64 KiB", WrOpcode::Write, 65'536, 60'000);
    measure("send 64 KiB", WrOpcode::Send, 65'536, 60'000);
    measure("read 64 KiB", WrOpcode::Read, 65'536, 60'000);
    measure("write 64 B", WrOpcode::Write, 64, 2'000'000);
    measure("send 64 B", WrOpcode::Send, 64, 2'000'000);
    measure("read 64 B", WrOpcode::Read, 64, 1'000'000);
}
