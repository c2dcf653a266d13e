// Ports between two real processes: frames of every size, sleepers, and peers that die.
#include "common/dpdk/ethdev_port.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <vector>

#include "common/dpdk/clock.hpp"
#include "tests/unit/common/dpdk/environment.hpp"

namespace vroce {
namespace {

using test::await;
using test::EchoPeer;

int next_device = 0;  // a name serves once: DPDK keeps closed devices

std::unique_ptr<EthdevPort> open_memif(const std::string& role, const std::string& socket) {
    EthdevPortOptions options;
    options.devargs = "net_memif" + std::to_string(next_device++) + ",role=" + role + ",socket=" + socket;
    auto port = EthdevPort::open(options, test::pool());
    EXPECT_TRUE(port) << port.error();
    return port ? std::move(*port) : nullptr;
}

class MemifPort : public ::testing::TestWithParam<const char*> {
protected:
    [[nodiscard]] std::string peer_role() const { return GetParam() == std::string("server") ? "client" : "server"; }
    void SetUp() override {
        // A client starts after its server here; the other order is a restart, tested below.
        if (peer_role() == "server") peer_ = std::make_unique<EchoPeer>("server", socket_);
        ASSERT_TRUE(await([this] { return peer_role() == "client" || access(socket_.c_str(), F_OK) == 0; }));
        port_ = open_memif(GetParam(), socket_);
        ASSERT_NE(port_, nullptr);
        if (peer_role() == "client") peer_ = std::make_unique<EchoPeer>("client", socket_);
    }
    void serve() {
        port_->doorbell()->serve();
        port_->update_link(clock_.now());
    }
    bool await_peer() {
        return await([this] {
            serve();
            return port_->link_up() && port_->doorbell()->connected();
        });
    }
    bool await_loss() {
        return await([this] {
            serve();
            return !port_->link_up() && !port_->doorbell()->connected();
        });
    }
    static std::uint8_t pattern(std::uint32_t length, std::uint32_t at) {
        return static_cast<std::uint8_t>((at + 1) * 131u + length * 7u);
    }
    void send(std::uint32_t length) {
        Packet* packet = test::pool().alloc();
        ASSERT_NE(packet, nullptr);
        packet->resize(length);
        for (std::uint32_t i = 0; i < length; ++i) packet->data[i] = pattern(length, i);
        ASSERT_TRUE(await([&] { return port_->send({&packet, 1}) == 1; }));
        port_->ring_doorbell();
    }
    /// The next frame that comes back is this one, byte for byte.
    void expect_echo(std::uint32_t length) {
        Packet* packet = nullptr;
        ASSERT_TRUE(await([&] { return port_->receive({&packet, 1}) == 1; })) << length;
        ASSERT_EQ(packet->length, length);
        std::swap(packet->data[0], packet->data[1]);
        std::uint32_t wrong = 0;
        for (std::uint32_t i = 0; i < length; ++i) wrong += packet->data[i] != pattern(length, i) ? 1 : 0;
        EXPECT_EQ(wrong, 0u) << "of " << length;
        release(packet);
    }

    test::TemporaryDirectory directory_;
    std::string socket_ = directory_.file("port.memif");
    TscClock clock_;
    std::unique_ptr<EchoPeer> peer_;
    std::unique_ptr<EthdevPort> port_;
};

TEST_P(MemifPort, CarriesFramesOfEverySizeIntact) {
    ASSERT_TRUE(await_peer());
    const std::size_t before = test::pool().available();
    for (const std::uint32_t length : {60u, 64u, 1'514u, 2'048u, 2'049u, 4'200u, 9'000u, 9'215u, 9'216u}) {
        send(length);
        expect_echo(length);
    }
    for (int burst = 0; burst < 20; ++burst) {
        for (int i = 0; i < 32; ++i) send(9'216);
        for (int i = 0; i < 32; ++i) expect_echo(9'216);
    }
    EXPECT_EQ(port_->counters().rx_multi_segment, 0u) << "one frame, one descriptor";
    EXPECT_EQ(port_->counters().rx_packets, 9u + 640u);
    EXPECT_LE(before - test::pool().available(), 256u) << "nothing leaks: at most what stands in the transmit ring";
}

TEST_P(MemifPort, ADoorbellWakesAPeerThatSleepsWithoutATimer) {
    ASSERT_TRUE(await_peer());
    for (int i = 0; i < 50; ++i) {
        usleep(2'000);  // a hundred times its empty polls: it sleeps
        send(100);
        expect_echo(100);
    }
}

TEST_P(MemifPort, ADoorbellWakesUs) {
    ASSERT_TRUE(await_peer());
    for (int i = 0; i < 50; ++i) {
        port_->set_sleeping(true);
        send(100);
        ASSERT_TRUE(await([this] { return test::is_readable(port_->wake_fd()); }));
        port_->set_sleeping(false);
        expect_echo(100);
    }
}

TEST_P(MemifPort, SurvivesThePeersDeathAndTakesTheNextOne) {
    for (int life = 0; life < 3; ++life) {
        ASSERT_TRUE(await_peer()) << life;
        send(1'000);
        expect_echo(1'000);
        port_->set_sleeping(true);
        peer_->kill();
        ASSERT_TRUE(await_loss()) << life;
        EXPECT_TRUE(test::is_readable(port_->wake_fd())) << "who slept in trust of the peer is woken";
        port_->set_sleeping(false);
        Packet* packet = test::pool().alloc();
        EXPECT_EQ(port_->send({&packet, 1}), 0u) << "a packet without a peer stays the caller's";
        release(packet);
        peer_ = std::make_unique<EchoPeer>(peer_role(), socket_);
    }
    ASSERT_TRUE(await_peer());
    send(9'216);
    expect_echo(9'216);
}

INSTANTIATE_TEST_SUITE_P(Roles, MemifPort, ::testing::Values("server", "client"),
                         [](const auto& role) { return std::string(role.param); });

TEST(EthdevPort, AServerReplacesADeadProcessesSocketAndRefusesALiveOnes) {
    const test::TemporaryDirectory directory;
    const std::string socket_path = directory.file("a.memif");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int stale = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(stale, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(stale);
    EXPECT_NE(open_memif("server", socket_path), nullptr);
    unlink(socket_path.c_str());

    const int live = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(live, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(live, 4), 0);
    EthdevPortOptions options;
    options.devargs = "net_memif" + std::to_string(next_device++) + ",role=server,socket=" + socket_path;
    EXPECT_NE(EthdevPort::open(options, test::pool()).error().find("another process listens"), std::string::npos);
    close(live);
}

TEST(EthdevPort, AClientMayStartBeforeItsServer) {
    const test::TemporaryDirectory directory;
    const auto port = open_memif("client", directory.file("later.memif"));
    ASSERT_NE(port, nullptr);
    EXPECT_FALSE(port->link_up());
    const TscClock clock;
    EXPECT_NE(port->next_poll(clock.now()), kNever) << "it has to try again";
    const EchoPeer peer("server", directory.file("later.memif"));
    EXPECT_TRUE(await([&] {
        port->doorbell()->serve();
        port->update_link(clock.now());
        return port->link_up() && port->doorbell()->connected();
    }));
    EXPECT_EQ(port->next_poll(clock.now()), kNever) << "with a doorbell no timer is needed";
}

TEST(EthdevPort, RefusalsAreOneLineThatNamesTheDevice) {
    for (const char* devargs :
         {"net_nonsense0,x=1", "net_memif90,role=client", "net_memif91,role=emperor,socket=/tmp/x",
          "net_memif92,role=server,socket=/nonexistent/directory/x.memif", ""}) {
        EthdevPortOptions options;
        options.devargs = devargs;
        const auto port = EthdevPort::open(options, test::pool());
        ASSERT_FALSE(port) << devargs;
        EXPECT_EQ(port.error().find('\n'), std::string::npos) << port.error();
        EXPECT_NE(port.error().find(devargs), std::string::npos) << port.error();
    }
}

TEST(EthdevPort, AnyOtherDeviceIsAPortToo) {
    EthdevPortOptions options;
    options.devargs = "net_null" + std::to_string(next_device++) + ",size=1000,no-rx=0";
    const auto port = EthdevPort::open(options, test::pool());
    ASSERT_TRUE(port) << port.error();
    EXPECT_TRUE((*port)->link_up());
    EXPECT_EQ((*port)->doorbell(), nullptr);
    const TscClock clock;
    const Instant now = clock.now();
    EXPECT_EQ((*port)->next_poll(now), now + milliseconds(2)) << "a foreign peer is looked at every 2 ms";
    std::array<Packet*, 8> packets{};
    ASSERT_EQ((*port)->receive(packets), 8u);
    EXPECT_EQ(packets[0]->length, 1'000u);
    EXPECT_EQ((*port)->send(packets), 8u);
}

TEST(EthdevPort, StopsReadingWhileThePoolIsNearlyEmptyAndCountsIt) {
    EthdevPortOptions options;
    options.devargs = "net_null" + std::to_string(next_device++) + ",size=100,no-rx=0";
    auto small = MbufPool::create("nearly-empty", 1'023, 1'000);
    ASSERT_TRUE(small) << small.error();
    const auto port = EthdevPort::open(options, **small);
    ASSERT_TRUE(port) << port.error();
    std::vector<Packet*> held;
    std::array<Packet*, 32> packets{};
    for (;;) {
        const std::size_t count = (*port)->receive(packets);
        if (count == 0) break;
        held.insert(held.end(), packets.begin(), packets.begin() + static_cast<std::ptrdiff_t>(count));
    }
    EXPECT_EQ((*port)->counters().rx_no_buffer, 1u);
    EXPECT_GT((*small)->available(), 0u) << "the pool is never emptied: memif mangles frames then";
    EXPECT_NE((*small)->nearly_empty(), false);
    for (Packet* packet : held) release(packet);
}

}  // namespace
}  // namespace vroce
