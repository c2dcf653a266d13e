// The kernel's side of an endpoint: TAP, interface, addresses, neighbours. Each test has a network namespace of its
// own, which is where its thread ends; that needs root.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "nic/bridge/announcement.hpp"
#include "nic/io/netlink/address_watcher.hpp"
#include "nic/io/netlink/interface.hpp"
#include "nic/io/netlink/neighbour_resolver.hpp"
#include "nic/io/netlink/network_namespace.hpp"
#include "nic/io/tap_port.hpp"
#include "tests/unit/nic_io/frames.hpp"

namespace vroce::nic::test {
namespace {

const MacAddress kMac = mac(1);
const MacAddress kPeer = mac(0x99);

class NetworkTest : public ::testing::Test {
protected:
    void SetUp() override {
        bool allowed = false;
        std::thread([&] { allowed = ::unshare(CLONE_NEWNET) == 0; }).join();
        if (!allowed) GTEST_SKIP() << "a network namespace is refused: " << std::strerror(errno);
    }
    template <typename Body>
    void in_namespace(Body body) {
        std::thread([&] {
            ASSERT_EQ(::unshare(CLONE_NEWNET), 0);
            auto socket = NetlinkSocket::open(0);
            ASSERT_TRUE(socket) << socket.error();
            kernel = std::move(*socket);
            body();
            tap.reset();
        }).join();
    }
    void make_interface(std::vector<InterfaceAddress> addresses = {{ipv4(1), 24}, {ipv6(1), 64}}) {
        auto opened = TapPort::open("eth0", pool);
        ASSERT_TRUE(opened) << opened.error();
        tap = std::move(*opened);
        const Status s = set_up_interface(*kernel, {"eth0", kMac, 4'200, std::move(addresses)});
        ASSERT_TRUE(s) << s.error();
    }
    /// The next frame of this EtherType that the kernel sends, or nothing.
    Bytes next_frame(std::uint16_t type) {
        for (int i = 0; i < 1'000; ++i) {
            Packet* packet = nullptr;
            if (tap->receive({&packet, 1}) == 0) continue;
            Bytes bytes(packet->data, packet->data + packet->length);
            release(packet);
            if (load_be16(bytes.data() + 12) == type) return bytes;
        }
        return {};
    }
    void send(const Bytes& bytes) {
        Packet* packet = pool.alloc();
        packet->resize(static_cast<std::uint32_t>(bytes.size()));
        std::memcpy(packet->data, bytes.data(), bytes.size());
        EXPECT_EQ(tap->send({&packet, 1}), 1u);
    }
    /// A question that the kernel answers at once, if the address is its own.
    void ask_for(const Gid& address) {
        Bytes out(kAnnouncementBytesMax);
        out.resize(
            write_announcement(std::span<std::uint8_t, kAnnouncementBytesMax>(out.data(), out.size()), kPeer, ipv4(2)));
        std::copy_n(address.bytes.begin() + 12, 4, out.begin() + 38);
        send(out);
    }
    /// Answers the ARP request for `address` that the kernel sent.
    void answer_arp(const Gid& address) {
        const Bytes request = next_frame(kEtherTypeArp);
        ASSERT_GE(request.size(), 42u) << "the kernel asked nobody";
        ASSERT_TRUE(std::equal(request.begin() + 38, request.begin() + 42, address.bytes.begin() + 12));
        Bytes reply = request;
        std::copy(kMac.bytes.begin(), kMac.bytes.end(), reply.begin());
        std::copy(kPeer.bytes.begin(), kPeer.bytes.end(), reply.begin() + 6);
        reply[21] = 2;
        std::copy(kPeer.bytes.begin(), kPeer.bytes.end(), reply.begin() + 22);
        std::copy_n(request.begin() + 38, 4, reply.begin() + 28);
        std::copy_n(request.begin() + 22, 10, reply.begin() + 32);
        send(reply);
    }

    SlabPool pool{8};
    std::unique_ptr<NetlinkSocket> kernel;
    std::unique_ptr<TapPort> tap;
};

struct Answer {
    int error = -1;  ///< -1: none yet
    MacAddress mac;
    Resolver::Answer take() {
        return [this](int e, MacAddress m) {
            error = e;
            mac = m;
        };
    }
};

TEST_F(NetworkTest, TheInterfaceIsUsableAtOnce) {
    in_namespace([&] {
        make_interface();
        auto watcher = AddressWatcher::open();
        ASSERT_TRUE(watcher) << watcher.error();
        (*watcher)->watch("eth0", 3);
        std::vector<InterfaceState> told;
        const auto changed = [&](std::size_t endpoint, const InterfaceState& state) {
            EXPECT_EQ(endpoint, 3u);
            told.push_back(state);
        };
        (*watcher)->refresh(changed);
        ASSERT_EQ(told.size(), 1u);
        EXPECT_TRUE(told[0].up);
        EXPECT_EQ(told[0].mtu, 4'200u);
        const auto has = [&](const Gid& gid) {
            return std::find(told.back().addresses.begin(), told.back().addresses.end(), gid) !=
                   told.back().addresses.end();
        };
        EXPECT_TRUE(has(ipv4(1)));
        EXPECT_TRUE(has(ipv6(1)));
        EXPECT_TRUE(has(link_local_of(kMac)));
        (*watcher)->refresh(changed);
        EXPECT_EQ(told.size(), 1u) << "nothing changed";

        ASSERT_TRUE(set_up_interface(*kernel, {"eth0", kMac, 1'500, {{ipv4(7), 24}}}));
        (*watcher)->serve(changed);
        ASSERT_EQ(told.size(), 2u);
        EXPECT_EQ(told[1].mtu, 1'500u);
        EXPECT_TRUE(has(ipv4(7)));

        tap.reset();
        (*watcher)->serve(changed);
        ASSERT_EQ(told.size(), 3u);
        EXPECT_EQ(told[2], InterfaceState{});
    });
}

TEST_F(NetworkTest, WhatCannotBeSetUpIsNamed) {
    in_namespace([&] {
        EXPECT_NE(set_up_interface(*kernel, {"eth7", kMac, 1'500, {}}).error().find("eth7"), std::string::npos);
        make_interface();
        const auto second = TapPort::open("eth0", pool);
        ASSERT_FALSE(second);
        EXPECT_NE(second.error().find("eth0"), std::string::npos);
        EXPECT_NE(second.error().find("in use"), std::string::npos);
    });
}

TEST_F(NetworkTest, ANamespaceThatIsNoneIsNamed) {
    const auto nothing = [] { return Status(Done{}); };
    EXPECT_NE(run_in_netns("/no/such/netns", nothing).error().find("/no/such/netns"), std::string::npos);
    EXPECT_NE(run_in_netns("/dev/null", nothing).error().find("/dev/null"), std::string::npos);
}

TEST_F(NetworkTest, AnInterfaceThatIsDownLosesFramesByName) {
    in_namespace([&] {
        auto opened = TapPort::open("eth0", pool);
        ASSERT_TRUE(opened) << opened.error();
        tap = std::move(*opened);
        send(frame({kMac, kPeer}));
        EXPECT_EQ(tap->counters().tx_refused, 1u);
        EXPECT_EQ(tap->counters().tx_packets, 0u);
    });
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(NetworkTest, AnInterfaceThatSomebodyDeletedIsLost) {
    in_namespace([&] {
        make_interface();
        ifinfomsg link{};
        link.ifi_index = static_cast<int>(interface_index(*kernel, "eth0"));
        NetlinkMessage message(RTM_DELLINK, NLM_F_ACK, link);
        ASSERT_EQ(kernel->transact(message), 0);
        EXPECT_FALSE(tap->lost());
        Packet* packet = nullptr;
        while (!tap->lost() && tap->receive({&packet, 1}) == 1) release(packet);
        EXPECT_TRUE(tap->lost());
        EXPECT_EQ(tap->receive({&packet, 1}), 0u);
    });
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST_F(NetworkTest, AnEmptyTapIsNotReadEachTime) {
    in_namespace([&] {
        make_interface({{ipv4(1), 24}});
        Packet* packet = nullptr;
        while (tap->receive({&packet, 1}) == 1) release(packet);  // until a read found nothing
        // The kernel answers a request for its own address; that frame waits until the skips are over.
        ask_for(ipv4(1));
        EXPECT_EQ(tap->receive({&packet, 1}), 0u);
        tap->look();
        ASSERT_EQ(tap->receive({&packet, 1}), 1u);
        release(packet);
    });
}

TEST_F(NetworkTest, AnInterfaceAnswersForItsOwnAddressesOnly) {
    in_namespace([&] {
        auto other = TapPort::open("eth1", pool);
        ASSERT_TRUE(other) << other.error();
        ASSERT_TRUE(set_up_interface(*kernel, {"eth1", mac(2), 1'500, {{ipv4(7), 24}}}));
        make_interface();
        ask_for(ipv4(7));
        EXPECT_TRUE(next_frame(kEtherTypeArp).empty());
        ask_for(ipv4(1));
        EXPECT_FALSE(next_frame(kEtherTypeArp).empty());
    });
}

TEST_F(NetworkTest, ANeighbourIsResolvedByTheKernel) {
    in_namespace([&] {
        make_interface();
        auto resolver = NeighbourResolver::open();
        ASSERT_TRUE(resolver) << resolver.error();
        Answer first;
        (*resolver)->resolve({"eth0", ipv4(1), ipv4(2)}, first.take());
        EXPECT_EQ(first.error, -1) << "nobody can know it yet";
        answer_arp(ipv4(2));
        (*resolver)->serve({});
        EXPECT_EQ(first.error, 0);
        EXPECT_EQ(first.mac, kPeer);
        EXPECT_EQ((*resolver)->next_deadline(), kNever);

        Answer second;
        (*resolver)->resolve({"eth0", ipv4(1), ipv4(2)}, second.take());
        EXPECT_EQ(second.error, 0) << "known from then on";
        EXPECT_EQ(second.mac, kPeer);
    });
}

TEST_F(NetworkTest, ANeighbourThatDoesNotAnswerIsUnreachable) {
    in_namespace([&] {
        make_interface();
        auto resolver = NeighbourResolver::open();
        ASSERT_TRUE(resolver) << resolver.error();
        Answer answer;
        (*resolver)->set_now(Instant{} + seconds(10));
        (*resolver)->resolve({"eth0", ipv4(1), ipv4(2)}, answer.take());
        EXPECT_EQ((*resolver)->next_deadline(), Instant{} + seconds(12));
        (*resolver)->serve(Instant{} + seconds(11));
        EXPECT_EQ(answer.error, -1);
        (*resolver)->serve(Instant{} + seconds(12));
        EXPECT_EQ(answer.error, EHOSTUNREACH);
        EXPECT_EQ((*resolver)->next_deadline(), kNever);
    });
}

TEST_F(NetworkTest, OtherNetworksAreReachedOverTheirGateway) {
    in_namespace([&] {
        make_interface();
        rtmsg route{};
        route.rtm_family = AF_INET;
        route.rtm_dst_len = 24;
        route.rtm_table = RT_TABLE_MAIN;
        route.rtm_protocol = RTPROT_STATIC;
        route.rtm_type = RTN_UNICAST;
        NetlinkMessage message(RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE, route);
        const Bytes network = {192, 168, 5, 0};
        const Bytes gateway = {10, 0, 0, 254};
        message.put(RTA_DST, network);
        message.put(RTA_GATEWAY, gateway);
        ASSERT_EQ(kernel->transact(message), 0);

        auto resolver = NeighbourResolver::open();
        ASSERT_TRUE(resolver) << resolver.error();
        Answer answer;
        const Gid far{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 168, 5, 9}};
        (*resolver)->resolve({"eth0", ipv4(1), far}, answer.take());
        answer_arp(ipv4(254));
        (*resolver)->serve({});
        EXPECT_EQ(answer.error, 0);
        EXPECT_EQ(answer.mac, kPeer);
    });
}

TEST_F(NetworkTest, WhereNoRouteLeadsTheAnswerIsAtOnce) {
    in_namespace([&] {
        make_interface();
        auto resolver = NeighbourResolver::open();
        ASSERT_TRUE(resolver) << resolver.error();
        Answer answer;
        (*resolver)->resolve({"eth9", ipv4(1), ipv4(2)}, answer.take());
        EXPECT_EQ(answer.error, ENODEV);
        const Gid loopback{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1}};
        (*resolver)->resolve({"eth0", ipv4(1), loopback}, answer.take());
        EXPECT_GT(answer.error, 0);
        const Gid group{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 224, 129, 2, 3}};
        (*resolver)->resolve({"eth0", ipv4(1), group}, answer.take());
        EXPECT_EQ(answer.error, 0);
        EXPECT_EQ(answer.mac, (MacAddress{{0x01, 0x00, 0x5E, 0x01, 0x02, 0x03}}));
    });
}

}  // namespace
}  // namespace vroce::nic::test
