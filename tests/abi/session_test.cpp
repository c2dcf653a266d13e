// What a well-behaved plugin gets: objects, traffic, events, answers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "tests/abi/nic_bench.hpp"
#include "tests/abi/raw_client.hpp"

extern "C" std::size_t vroce_abi_bytes_seen_by_c(void);

namespace vroce::test {
namespace {

constexpr std::uint32_t kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

using GidBytes = std::uint8_t[16];

void link_local(GidBytes& gid) {
    const GidBytes bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1};
    std::memcpy(gid, bytes, sizeof bytes);
}

bool readable(int fd, int timeout_ms) {
    pollfd wait{fd, POLLIN, 0};
    return poll(&wait, 1, timeout_ms) == 1 && (wait.revents & POLLIN) != 0;
}

std::vector<vroce_cqe> wait_for(ClientCq& cq, std::size_t count) {
    std::vector<vroce_cqe> got;
    eventually([&] {
        while (auto cqe = RawClient::poll(cq)) got.push_back(*cqe);
        return got.size() >= count;
    });
    return got;
}

class SessionTest : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(client.connect(bench.session_path()));
        ASSERT_EQ(client.hello(), 0);
        ASSERT_EQ(client.alloc_pd(pd), 0);
    }
    /// Two connected QPs of this device, receives of one on the other's sends.
    void make_pair(std::uint32_t channel = UINT32_MAX) {
        ASSERT_EQ(client.create_cq(64, channel, 0xC0FFEE, cq), 0);
        ASSERT_EQ(client.create_qp(pd, cq, 0xA, a), 0);
        ASSERT_EQ(client.create_qp(pd, cq, 0xB, b), 0);
        GidBytes gid;
        link_local(gid);
        ASSERT_EQ(client.connect_qp(a, b.reply.qpn, gid), 0);
        ASSERT_EQ(client.connect_qp(b, a.reply.qpn, gid), 0);
        std::iota(source.begin(), source.end(), std::uint8_t{1});
        ASSERT_EQ(client.reg_mr(pd, source.data(), source.size(), kAllAccess, source_mr), 0);
        ASSERT_EQ(client.reg_mr(pd, target.data(), target.size(), kAllAccess, target_mr), 0);
    }
    void send(std::uint8_t flags = VROCE_SEND_SIGNALED) {
        vroce_send_wqe wqe{};
        wqe.wr_id = 11;
        wqe.opcode = VROCE_WR_SEND;
        wqe.flags = flags;
        wqe.sge_count = 1;
        client.post_send(a, wqe, source.data(), static_cast<std::uint32_t>(source.size()), source_mr.lkey);
    }
    void receive() {
        client.post_recv(b, 22, target.data(), static_cast<std::uint32_t>(target.size()), target_mr.lkey);
    }

    NicBench bench;
    RawClient client;
    std::uint32_t pd = 0;
    ClientCq cq;
    ClientQp a;
    ClientQp b;
    vroce_reg_mr_reply source_mr{};
    vroce_reg_mr_reply target_mr{};
    std::array<std::uint8_t, 10'000> source{};
    std::array<std::uint8_t, 10'000> target{};
};

TEST(AbiHeader, IsTheSameInC) {
    EXPECT_EQ(vroce_abi_bytes_seen_by_c(), sizeof(vroce_hello) + sizeof(vroce_create_qp_reply) + sizeof(vroce_cqe) +
                                               sizeof(vroce_status_page) + sizeof(vroce_doorbell_page));
}

TEST_F(SessionTest, HelloHandsOutPagesThatHold) {
    const auto& page = *reinterpret_cast<const vroce_status_page*>(client.status_page().base);
    EXPECT_EQ(page.magic, VROCE_ABI_MAGIC);
    EXPECT_EQ(page.workers, 1u);
    EXPECT_EQ(client.hello_reply().major, VROCE_ABI_MAJOR);
    EXPECT_NE(fcntl(client.async_write_fd(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(SessionTest, DeviceAndPortAreHonest) {
    const auto device = client.simple(VROCE_QUERY_DEVICE).as<vroce_device_attr>();
    EXPECT_EQ(device.vendor_id, 0x1234u);
    EXPECT_EQ(device.vendor_part_id, 7u);
    EXPECT_EQ(device.phys_port_cnt, 1);
    EXPECT_GE(device.max_inline, 236u);
    const std::array<std::uint8_t, 8> guid{0, 0, 0, 0xff, 0xfe, 0, 0, 1};
    EXPECT_EQ(std::memcmp(&device.node_guid, guid.data(), guid.size()), 0);
    const auto port = client.simple(VROCE_QUERY_PORT).as<vroce_port_attr>();
    EXPECT_EQ(port.state, static_cast<std::uint32_t>(IBV_PORT_ACTIVE));
    EXPECT_EQ(port.active_mtu, static_cast<std::uint32_t>(IBV_MTU_4096));
    EXPECT_EQ(port.gid_tbl_len, 16u);
    bench.on_control([&] { bench.endpoint().set_link(false, 1'500); });
    const auto down = client.simple(VROCE_QUERY_PORT).as<vroce_port_attr>();
    EXPECT_EQ(down.state, static_cast<std::uint32_t>(IBV_PORT_DOWN));
    EXPECT_EQ(down.active_mtu, static_cast<std::uint32_t>(IBV_MTU_1024));
}

TEST_F(SessionTest, SendArrivesByteForByte) {
    make_pair();
    receive();
    send();
    const auto done = wait_for(cq, 2);
    ASSERT_EQ(done.size(), 2u);
    for (const vroce_cqe& cqe : done) EXPECT_EQ(cqe.status, IBV_WC_SUCCESS);
    EXPECT_EQ(source, target);
}

TEST_F(SessionTest, WriteAndReadReachThePeersMemory) {
    make_pair();
    vroce_send_wqe wqe{};
    wqe.flags = VROCE_SEND_SIGNALED;
    wqe.sge_count = 1;
    wqe.opcode = VROCE_WR_RDMA_WRITE;
    wqe.remote_addr = reinterpret_cast<std::uint64_t>(target.data());
    wqe.rkey = target_mr.rkey;
    client.post_send(a, wqe, source.data(), 5'000, source_mr.lkey);
    ASSERT_EQ(wait_for(cq, 1).at(0).status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(source.data(), target.data(), 5'000), 0);
    wqe.opcode = VROCE_WR_RDMA_READ;
    source.fill(0);
    client.post_send(a, wqe, source.data(), 5'000, source_mr.lkey);
    ASSERT_EQ(wait_for(cq, 1).at(0).status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(source.data(), target.data(), 5'000), 0);
}

TEST_F(SessionTest, MemoryOfAMemfdIsMapped) {
    constexpr std::size_t kBytes = 1 << 20;
    const int fd = memfd_create("test", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, kBytes), 0);
    void* base = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_NE(base, MAP_FAILED);
    make_pair();
    vroce_reg_mr_reply mapped{};
    ASSERT_EQ(client.reg_mr(pd, base, kBytes, kAllAccess, mapped, fd), 0);
    EXPECT_EQ(mapped.mapped, 1u);
    vroce_send_wqe wqe{};
    wqe.flags = VROCE_SEND_SIGNALED;
    wqe.sge_count = 1;
    wqe.opcode = VROCE_WR_RDMA_WRITE;
    wqe.remote_addr = reinterpret_cast<std::uint64_t>(base);
    wqe.rkey = mapped.rkey;
    client.post_send(a, wqe, source.data(), 10'000, source_mr.lkey);
    ASSERT_EQ(wait_for(cq, 1).at(0).status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(base, source.data(), 10'000), 0);
    EXPECT_EQ(client.simple(VROCE_DEREG_MR, mapped.handle).header().status, 0);
    munmap(base, kBytes);
    close(fd);
}

TEST_F(SessionTest, CompletionEventsNameTheQueueAndAreCounted) {
    ClientChannel channel;
    ASSERT_EQ(client.create_channel(channel), 0);
    make_pair(channel.handle);
    EXPECT_FALSE(readable(channel.read_fd, 0));
    RawClient::arm(cq, VROCE_ARM_NEXT);
    receive();
    send();
    ASSERT_TRUE(readable(channel.read_fd, 5'000));
    std::uint64_t who = 0;
    ASSERT_EQ(read(channel.read_fd, &who, sizeof who), 8);
    EXPECT_EQ(who, 0xC0FFEEu);
    ASSERT_EQ(wait_for(cq, 2).size(), 2u);
    EXPECT_FALSE(readable(channel.read_fd, 50)) << "one arming, one event";
    EXPECT_EQ(client.simple(VROCE_DESTROY_CHANNEL, channel.handle).header().status, EBUSY);
    EXPECT_EQ(client.simple(VROCE_DESTROY_CQ, cq.reply.handle).header().status, EBUSY);
    for (const ClientQp* qp : {&a, &b}) ASSERT_EQ(client.simple(VROCE_DESTROY_QP, qp->reply.handle).header().status, 0);
    const auto gone = client.simple(VROCE_DESTROY_CQ, cq.reply.handle).as<vroce_simple_reply>();
    EXPECT_EQ(gone.header.status, 0);
    EXPECT_EQ(gone.comp_events, 1u);
    EXPECT_EQ(gone.async_events, 0u);
    EXPECT_EQ(client.simple(VROCE_DESTROY_CHANNEL, channel.handle).header().status, 0);
    close(channel.read_fd);
    close(channel.write_fd);
}

TEST_F(SessionTest, EventsOfAFullChannelComeLaterAndAreCountedOnce) {
    ClientChannel channel;
    ASSERT_EQ(client.create_channel(channel), 0);
    make_pair(channel.handle);
    // The application has filled the pipe itself, with records that say 0.
    const std::uint64_t filler = 0;
    std::size_t filled = 0;
    while (write(channel.write_fd, &filler, sizeof filler) == 8) ++filled;
    ASSERT_GT(filled, 100u);
    for (int i = 0; i < 3; ++i) {
        RawClient::arm(cq, VROCE_ARM_NEXT);
        receive();
        send();
        ASSERT_EQ(wait_for(cq, 2).size(), 2u);
    }
    EXPECT_EQ(bench.counter("events_held"), 1u);
    EXPECT_GE(bench.counter("events_merged"), 2u);
    std::size_t events = 0;
    for (std::uint64_t who = 0; readable(channel.read_fd, 200);) {
        ASSERT_EQ(read(channel.read_fd, &who, sizeof who), 8);
        events += who == 0xC0FFEE ? 1 : 0;
    }
    EXPECT_EQ(events, 1u);
    for (const ClientQp* qp : {&a, &b}) client.simple(VROCE_DESTROY_QP, qp->reply.handle);
    EXPECT_EQ(client.simple(VROCE_DESTROY_CQ, cq.reply.handle).as<vroce_simple_reply>().comp_events, 1u);
    close(channel.read_fd);
    close(channel.write_fd);
}

TEST_F(SessionTest, HeldEventsOfADestroyedQueueNeverCome) {
    ClientChannel channel;
    ASSERT_EQ(client.create_channel(channel), 0);
    make_pair(channel.handle);
    const std::uint64_t filler = 0;
    while (write(channel.write_fd, &filler, sizeof filler) == 8) {
    }
    RawClient::arm(cq, VROCE_ARM_NEXT);
    receive();
    send();
    ASSERT_EQ(wait_for(cq, 2).size(), 2u);
    for (const ClientQp* qp : {&a, &b}) client.simple(VROCE_DESTROY_QP, qp->reply.handle);
    EXPECT_EQ(client.simple(VROCE_DESTROY_CQ, cq.reply.handle).as<vroce_simple_reply>().comp_events, 0u);
    for (std::uint64_t who = 0; readable(channel.read_fd, 100);) {
        ASSERT_EQ(read(channel.read_fd, &who, sizeof who), 8);
        EXPECT_EQ(who, 0u);
    }
    close(channel.read_fd);
    close(channel.write_fd);
}

TEST_F(SessionTest, PortAndGidChangesAreTold) {
    const auto next = [&] {
        vroce_async_event event{};
        EXPECT_TRUE(readable(client.async_fd(), 5'000));
        EXPECT_EQ(read(client.async_fd(), &event, sizeof event), static_cast<ssize_t>(sizeof event));
        return event;
    };
    bench.on_control([&] { bench.endpoint().set_link(false, 4'200); });
    vroce_async_event event = next();
    EXPECT_EQ(event.event_type, static_cast<std::uint32_t>(IBV_EVENT_PORT_ERR));
    EXPECT_EQ(event.element, 1u);
    bench.on_control([&] { bench.endpoint().set_link(true, 4'200); });
    EXPECT_EQ(next().event_type, static_cast<std::uint32_t>(IBV_EVENT_PORT_ACTIVE));
    bench.on_control([&] { bench.endpoint().set_addresses({}); });
    EXPECT_EQ(next().event_type, static_cast<std::uint32_t>(IBV_EVENT_GID_CHANGE));
}

TEST_F(SessionTest, RingPlacesAreReused) {
    ClientCq first;
    ASSERT_EQ(client.create_cq(1'000, UINT32_MAX, 1, first), 0);
    for (int i = 0; i < 2'000; ++i) {
        ClientCq again;
        ASSERT_EQ(client.create_cq(1'000, UINT32_MAX, 2, again), 0) << i;
        ASSERT_EQ(again.ring[0].phase, 0u);
        again.ring[0].phase = 77;  // what one queue left is not another's completion
        ASSERT_EQ(client.simple(VROCE_DESTROY_CQ, again.reply.handle).header().status, 0);
        ASSERT_EQ(again.reply.ring.arena, first.reply.ring.arena);
    }
}

TEST_F(SessionTest, AnUnknownNeighbourIsAskedForAndOthersGoOn) {
    ASSERT_EQ(client.create_cq(16, UINT32_MAX, 1, cq), 0);
    ASSERT_EQ(client.create_qp(pd, cq, 2, a), 0);
    vroce_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    ASSERT_EQ(client.modify_qp(a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, attr), 0);
    vroce_modify_qp request{};
    request.header = {VROCE_MODIFY_QP, sizeof request};
    request.handle = a.reply.handle;
    request.attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    request.attr.qp_state = IBV_QPS_RTR;
    request.attr.path_mtu = IBV_MTU_1024;
    request.attr.dest_qp_num = 99;
    request.attr.ah_is_global = 1;
    request.attr.grh_sgid_index = 1;
    nic::Gid far = NicBench::address();
    far.bytes[15] = 2;
    std::memcpy(request.attr.grh_dgid, far.bytes.data(), 16);
    const auto waiting = [&] {
        std::size_t count = 0;
        bench.on_control([&] { count = bench.resolver().waiting(); });
        return count;
    };
    for (const int error : {EHOSTUNREACH, 0}) {
        ASSERT_TRUE(client.send_raw(std::as_bytes(std::span(&request, 1))));
        ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
        RawClient other;
        ASSERT_TRUE(other.connect(bench.session_path()));
        EXPECT_EQ(other.hello(), 0);
        EXPECT_FALSE(readable(client.fd(), 0));
        bench.on_control([&] { bench.resolver().answer_all(error, {{2, 0, 0, 0, 0, 9}}); });
        EXPECT_EQ(client.receive().header().status, error);
    }
    EXPECT_EQ(client.simple(VROCE_QUERY_QP, a.reply.handle).as<vroce_query_qp_reply>().attr.qp_state,
              static_cast<std::uint32_t>(IBV_QPS_RTR));
}

TEST_F(SessionTest, ANeighbourThatNeverAnswersIsUnreachable) {
    ASSERT_EQ(client.create_cq(16, UINT32_MAX, 1, cq), 0);
    ASSERT_EQ(client.create_qp(pd, cq, 2, a), 0);
    GidBytes far = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    EXPECT_EQ(client.connect_qp(a, 99, far), EHOSTUNREACH);
    EXPECT_EQ(bench.counter("resolves_timed_out"), 1u);
    // Too late; nobody listens any more.
    bench.on_control([&] { bench.resolver().answer_all(0, {}); });
    EXPECT_EQ(client.simple(VROCE_QUERY_QP, a.reply.handle).as<vroce_query_qp_reply>().attr.qp_state,
              static_cast<std::uint32_t>(IBV_QPS_INIT));
}

TEST_F(SessionTest, ClosingFreesEverything) {
    make_pair();
    EXPECT_EQ(bench.qp_count(), 2u);
    EXPECT_EQ(bench.mr_count(), 2u);
    client.close_socket();
    EXPECT_TRUE(eventually([&] { return bench.context_count() == 0 && bench.session_count() == 0; }));
    EXPECT_EQ(bench.qp_count(), 0u);
    EXPECT_EQ(bench.mr_count(), 0u);
}

TEST_F(SessionTest, TheEndOfTheNicIsTheEndOfTheConnection) {
    make_pair();
    bench.end_endpoint();
    EXPECT_TRUE(client.receive().closed);
    EXPECT_NE(access(bench.directory().c_str(), F_OK), 0) << "nothing is left behind";
}

TEST_F(SessionTest, ViewsShowWhatThereIs) {
    make_pair();
    nlohmann::json qps;
    nlohmann::json mrs;
    nlohmann::json endpoint;
    bench.on_control([&] {
        qps = bench.endpoint().show_qps();
        mrs = bench.endpoint().show_mrs();
        endpoint = bench.endpoint().show();
    });
    ASSERT_EQ(qps.size(), 2u);
    EXPECT_EQ(qps[0]["state"], "RTS");
    EXPECT_EQ(mrs.size(), 2u);
    EXPECT_EQ(endpoint["sessions"][0]["pid"], getpid());
    EXPECT_EQ(endpoint["gids"].size(), 2u);
}

}  // namespace
}  // namespace vroce::test
