// Sequences of operations on the buffer's ledger: frames and copies of frames are admitted and leave in any order,
// while the limits change below them. After each operation the pools hold what their users hold; at the end nobody
// holds anything.
//
// Input: one byte that chooses the operation, then the operation's own bytes; a missing byte is 0.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "switch/mmu/buffer_manager.hpp"

namespace {

using namespace vroce;
using namespace vroce::sw;

constexpr std::size_t kPorts = 2;
constexpr std::size_t kPools = 2;
constexpr std::size_t kMostFrames = 4'096;

class Bytes {
public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), end_(data + size) {}
    [[nodiscard]] bool empty() const { return data_ == end_; }
    std::uint8_t next() { return empty() ? std::uint8_t{0} : *data_++; }
    std::uint32_t next16() {
        const std::uint32_t high = next();
        return high << 8 | next();
    }

private:
    const std::uint8_t* data_;
    const std::uint8_t* end_;
};

Threshold any_threshold(Bytes& bytes) {
    const std::uint8_t kind = bytes.next();
    if (kind % 2 == 0) return {.alpha_exponent = kind / 2 % 16 - 8, .static_bytes = 0};
    return {.alpha_exponent = std::nullopt, .static_bytes = bytes.next16()};
}

BufferLimits any_limits(Bytes& bytes) {
    BufferLimits limits;
    limits.cell_bytes = 1u << bytes.next() % 9;
    limits.ports.resize(kPorts);
    for (std::size_t i = 0; i < kPools; ++i)
        limits.pools.push_back(
            {.shared_bytes = bytes.next16() * 4, .headroom_bytes = bytes.next() % 2 == 0 ? 0 : bytes.next16()});
    for (PortBufferLimits& port : limits.ports) {
        const std::uint8_t groups = bytes.next();
        const std::uint8_t queues = bytes.next();
        for (unsigned i = 0; i < kPriorityGroups; ++i) {
            if ((groups >> i & 1) == 0) continue;
            port.groups[i] = PriorityGroupLimits{.pool = static_cast<std::uint8_t>(bytes.next() % kPools),
                                                 .reserved_bytes = bytes.next16() % 8'192,
                                                 .shared = any_threshold(bytes),
                                                 .headroom_bytes = i % 2 == 0 ? 0 : bytes.next16(),
                                                 .xon_bytes = bytes.next16() % 8'192,
                                                 .xon_offset_bytes = bytes.next16() % 8'192};
        }
        for (unsigned i = 0; i < kQueues; ++i) {
            if ((queues >> i & 1) == 0) continue;
            port.queues[i] = QueueLimits{.pool = static_cast<std::uint8_t>(bytes.next() % kPools),
                                         .reserved_bytes = bytes.next16() % 8'192,
                                         .shared = any_threshold(bytes)};
        }
    }
    return limits;
}

void expect(bool holds) {
    if (!holds) std::abort();
}

class Ledger {
public:
    explicit Ledger(BufferLimits limits) : manager_(std::move(limits)) {}

    void step(Bytes& bytes) {
        switch (bytes.next() % 10) {
            case 0:
            case 1:
            case 2:
                admit(bytes);
                break;
            case 3:
                admit_copy(bytes);
                break;
            case 4:
            case 5:
                leave(bytes.next16());
                break;
            case 6:
                manager_.update();
                break;
            case 7:
                admit_run(bytes);
                break;
            case 8:
                leave_together(bytes.next16());
                break;
            default:
                manager_.apply(any_limits(bytes));
        }
        check();
    }

    void end() {
        while (!held_.empty()) leave(0);
        for (std::size_t port = 0; port < kPorts; ++port) {
            for (unsigned i = 0; i < kPriorityGroups; ++i)
                expect(manager_.group(static_cast<PortId>(port), i).bytes() == 0);
            for (unsigned i = 0; i < kQueues; ++i) expect(manager_.queue(static_cast<PortId>(port), i).bytes() == 0);
        }
        manager_.update();
        check();
        // Nobody is congested who holds nothing: a pause would last for ever.
        for (std::size_t port = 0; port < kPorts; ++port)
            expect(manager_.congested_groups(static_cast<PortId>(port)) == 0);
    }

private:
    std::unique_ptr<Packet> frame(Bytes& bytes) {
        auto packet = std::make_unique<Packet>();
        packet->length = 60 + bytes.next16() % 9'200;
        packet->meta.in_port = bytes.next() % kPorts;
        packet->meta.priority = bytes.next() % kPriorityGroups;
        packet->meta.out_port = bytes.next() % kPorts;
        packet->meta.queue = bytes.next() % kQueues;
        return packet;
    }

    void admit(Bytes& bytes) {
        auto packet = frame(bytes);
        if (held_.size() < kMostFrames && manager_.admit(*packet) == Admission::kAdmitted)
            held_.push_back(std::move(packet));
    }

    /// Frames of one flow: all of them at once, or those that are admitted one by one.
    void admit_run(Bytes& bytes) {
        const auto first = frame(bytes);
        std::vector<std::unique_ptr<Packet>> run(1 + bytes.next() % kBurst);
        std::vector<Packet*> packets;
        for (auto& packet : run) {
            packet = std::make_unique<Packet>(*first);
            packet->length = 60 + bytes.next16() % 9'200;
            packets.push_back(packet.get());
        }
        if (held_.size() + run.size() > kMostFrames) return;
        const bool all = manager_.admit_all(packets);
        for (auto& packet : run)
            if (all || manager_.admit(*packet) == Admission::kAdmitted) held_.push_back(std::move(packet));
    }

    void leave_together(std::uint32_t count) {
        std::vector<Packet*> packets;
        const std::size_t leaving = std::min<std::size_t>(count % kBurst, held_.size());
        for (std::size_t i = held_.size() - leaving; i < held_.size(); ++i) packets.push_back(held_[i].get());
        manager_.release_all(packets);
        held_.resize(held_.size() - leaving);
    }

    void admit_copy(Bytes& bytes) {
        if (held_.empty() || held_.size() == kMostFrames) return;
        Packet& first = *held_[bytes.next16() % held_.size()];
        auto packet = frame(bytes);
        packet->meta.in_port = first.meta.in_port;
        packet->meta.priority = first.meta.priority;
        if (manager_.admit_copy(*packet, first) == Admission::kAdmitted) held_.push_back(std::move(packet));
    }

    void leave(std::uint32_t which) {
        if (held_.empty()) return;
        std::swap(held_[which % held_.size()], held_.back());
        manager_.release(*held_.back());
        held_.pop_back();
    }

    void check() const {
        std::array<PoolUse, kPools> sums{};
        for (std::size_t port = 0; port < kPorts; ++port) {
            for (unsigned i = 0; i < kPriorityGroups; ++i) {
                const PriorityGroupUse& use = manager_.group(static_cast<PortId>(port), i);
                sums[use.pool].shared_bytes += use.shared_bytes;
                sums[use.pool].headroom_bytes += use.headroom_bytes;
            }
            for (unsigned i = 0; i < kQueues; ++i) {
                const QueueUse& use = manager_.queue(static_cast<PortId>(port), i);
                sums[use.pool].shared_bytes += use.shared_bytes;
            }
        }
        for (std::size_t i = 0; i < kPools; ++i) {
            expect(manager_.pool(i).shared_bytes == sums[i].shared_bytes);
            expect(manager_.pool(i).headroom_bytes == sums[i].headroom_bytes);
        }
    }

    BufferManager manager_;
    std::vector<std::unique_ptr<Packet>> held_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    Ledger ledger(any_limits(bytes));
    while (!bytes.empty()) ledger.step(bytes);
    ledger.end();
    return 0;
}
