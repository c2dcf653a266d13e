// A port with what stands between it and the bridge: which way a fault works, what a full queue drops.
#include "nic/io/attached_port.hpp"

#include "tests/unit/nic_io/frames.hpp"

namespace vroce::nic::test {
namespace {

constexpr Instant kNow{1'000'000'000};

/// A device that gives what lies ready and keeps what it is given.
class FakePort final : public Port {
public:
    std::size_t receive(std::span<Packet*> out) override {
        const std::size_t count = std::min(out.size(), arrived.size());
        std::copy_n(arrived.begin(), count, out.begin());
        arrived.erase(arrived.begin(), arrived.begin() + static_cast<std::ptrdiff_t>(count));
        return count;
    }
    std::size_t send(std::span<Packet* const> packets) override {
        for (Packet* packet : packets) release(packet);
        sent += packets.size();
        return packets.size();
    }
    bool link_up() const override { return true; }

    std::vector<Packet*> arrived;
    std::size_t sent = 0;
};

class AttachedPortTest : public ::testing::Test {
protected:
    ~AttachedPortTest() override {
        for (Packet* packet : port.arrived) release(packet);
        EXPECT_EQ(pool.in_use(), 0u) << "a packet was lost";
    }
    Packet* packet() {
        Packet* p = pool.alloc();
        p->resize(100);
        return p;
    }
    std::size_t receive_one() {
        port.arrived.push_back(packet());
        std::array<Packet*, 4> out{};
        const std::size_t count = attached.receive(kNow, out);
        for (std::size_t i = 0; i < count; ++i) release(out[i]);
        return count;
    }
    std::size_t send_one() {
        const std::size_t before = port.sent;
        attached.send(packet(), 0);
        attached.flush(kNow, 0);
        return port.sent - before;
    }

    SlabPool pool{32};
    FakePort port;
    AttachedPort attached{"uplink", EgressConfig{.limit_bytes = 250}, port, pool};
};

TEST_F(AttachedPortTest, PacketsPassBothWays) {
    EXPECT_EQ(receive_one(), 1u);
    EXPECT_EQ(send_one(), 1u);
    EXPECT_EQ(attached.next_deadline(kNow), kNever);
}

TEST_F(AttachedPortTest, AFaultWorksInItsDirectionOnly) {
    const FaultSettings lost{.drop = 1};
    EXPECT_TRUE(attached.set_fault(kNow, {lost, FaultDirection::Tx}));
    EXPECT_EQ(receive_one(), 1u);
    EXPECT_EQ(send_one(), 0u);
    EXPECT_TRUE(attached.set_fault(kNow, {lost, FaultDirection::Rx}));
    EXPECT_EQ(receive_one(), 0u);
    EXPECT_EQ(send_one(), 1u);
    EXPECT_TRUE(attached.set_fault(kNow, {lost, FaultDirection::Both}));
    EXPECT_EQ(receive_one() + send_one(), 0u);
    EXPECT_TRUE(attached.set_fault(kNow, {FaultSettings{}, FaultDirection::Both}));
    EXPECT_EQ(receive_one() + send_one(), 2u);
}

TEST_F(AttachedPortTest, WhatAFaultHoldsComesAtItsTime) {
    EXPECT_TRUE(attached.set_fault(kNow, {FaultSettings{.delay = milliseconds(5)}, FaultDirection::Rx}));
    EXPECT_EQ(receive_one(), 0u);
    EXPECT_EQ(attached.next_deadline(kNow), kNow + milliseconds(5));
    std::array<Packet*, 4> out{};
    ASSERT_EQ(attached.receive(kNow + milliseconds(5), out), 1u);
    release(out[0]);
}

TEST_F(AttachedPortTest, AFullQueueDropsByName) {
    for (int i = 0; i < 3; ++i) attached.send(packet(), 0);
    EXPECT_EQ(attached.sendable_packets(), 2u);
    EXPECT_EQ(attached.drop_queue_full(), 1u);
    attached.flush(kNow, 0);
    EXPECT_EQ(port.sent, 2u);
}

}  // namespace
}  // namespace vroce::nic::test
