// What no plugin does: every lie is refused, costs its teller only, and leaves the others alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

#include "tests/abi/nic_bench.hpp"
#include "tests/abi/raw_client.hpp"

namespace vroce::test {
namespace {

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

class HostileTest : public ::testing::Test {
protected:
    /// A client that behaves, to see whether it can still.
    void expect_service() {
        RawClient good;
        ASSERT_TRUE(good.connect(bench.session_path()));
        EXPECT_EQ(good.hello(), 0);
        std::uint32_t pd = 0;
        EXPECT_EQ(good.alloc_pd(pd), 0);
    }
    void greet(RawClient& client) {
        ASSERT_TRUE(client.connect(bench.session_path()));
        ASSERT_EQ(client.hello(), 0);
    }
    static vroce_hello right_hello() {
        vroce_hello hello{};
        hello.header = {VROCE_HELLO, sizeof hello};
        hello.magic = VROCE_ABI_MAGIC;
        hello.major = VROCE_ABI_MAJOR;
        return hello;
    }
    int hello_with(const std::vector<int>& fds) {
        RawClient client;
        if (!client.connect(bench.session_path())) return -1;
        client.send_raw(bytes_of(right_hello()), fds);
        return client.receive().header().status;
    }
    NicBench bench;
};

TEST_F(HostileTest, AnotherVersionIsRefusedAndBothAreNamed) {
    RawClient client;
    ASSERT_TRUE(client.connect(bench.session_path()));
    vroce_hello hello = right_hello();
    hello.major = 9;
    hello.minor = 3;
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    const Reply reply = client.call(VROCE_HELLO, hello, {&memory, 1});
    close(memory);
    EXPECT_EQ(reply.header().status, EPROTO);
    EXPECT_EQ(reply.as<vroce_hello_reply>().major, VROCE_ABI_MAJOR);
    EXPECT_EQ(reply.fds.count(), 0u);
    const auto lines = bench.log();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("9.3"), std::string::npos);
    EXPECT_NE(lines[0].find("1.0"), std::string::npos);
    // The same connection may still say it right.
    EXPECT_EQ(client.hello(), 0);
}

TEST_F(HostileTest, HelloNeedsExactlyOneDescriptorOfTheRightKind) {
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    const int read_only = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int memfd = memfd_create("mem", MFD_CLOEXEC);
    EXPECT_EQ(hello_with({}), EINVAL);
    EXPECT_EQ(hello_with({memory, memory}), EINVAL);
    EXPECT_EQ(hello_with(std::vector<int>(100, null)), EINVAL);
    EXPECT_EQ(hello_with({null}), EINVAL);
    EXPECT_EQ(hello_with({read_only}), EINVAL);
    EXPECT_EQ(hello_with({memfd}), EINVAL);
    EXPECT_EQ(hello_with({memory}), 0);
    for (const int fd : {memory, read_only, null, memfd}) close(fd);
    EXPECT_EQ(bench.counter("refused_descriptors"), 6u);
}

TEST_F(HostileTest, SurplusDescriptorsAreClosed) {
    RawClient client;
    greet(client);
    const std::size_t before = open_descriptors();
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const std::vector<int> many(200, null);
    vroce_simple_request request{};
    for (int i = 0; i < 20; ++i) EXPECT_EQ(client.call(VROCE_ALLOC_PD, request, many).header().status, EINVAL);
    close(null);
    EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; }));
}

TEST_F(HostileTest, NothingIsAnsweredBeforeHello) {
    RawClient client;
    ASSERT_TRUE(client.connect(bench.session_path()));
    EXPECT_EQ(client.simple(VROCE_QUERY_DEVICE).header().status, EPROTO);
    EXPECT_EQ(client.simple(VROCE_DESTROY_QP).header().status, EPROTO);
    EXPECT_EQ(client.hello(), 0);
    EXPECT_EQ(client.hello(), EPROTO) << "once";
    EXPECT_EQ(client.simple(VROCE_ALLOC_PD).header().status, 0);
}

TEST_F(HostileTest, LengthsAreExact) {
    RawClient client;
    greet(client);
    std::vector<std::byte> record(1'500);
    for (const std::uint32_t message : {VROCE_ALLOC_PD, VROCE_REG_MR, VROCE_CREATE_QP, VROCE_MODIFY_QP}) {
        for (const std::size_t size : {8u, 9u, 15u, 17u, 47u, 95u, 97u, 1'024u, 1'025u, 1'500u}) {
            const vroce_request_header header{message, static_cast<std::uint32_t>(size)};
            std::memcpy(record.data(), &header, sizeof header);
            ASSERT_TRUE(client.send_raw(std::span(record).first(size)));
            EXPECT_EQ(client.receive().header().status, EINVAL) << message << " of " << size;
        }
    }
    vroce_simple_request lies{};
    lies.header = {VROCE_ALLOC_PD, 4'000'000'000u};
    ASSERT_TRUE(client.send_raw(bytes_of(lies)));
    EXPECT_EQ(client.receive().header().status, EINVAL);
    EXPECT_EQ(client.simple(VROCE_ALLOC_PD).header().status, 0);
}

TEST_F(HostileTest, UnknownMessagesAreSaidToBe) {
    RawClient client;
    greet(client);
    for (const std::uint32_t message : {0u, 16u, 17u, 1'000u, UINT32_MAX}) {
        vroce_simple_request request{};
        request.header = {message, sizeof request};
        ASSERT_TRUE(client.send_raw(bytes_of(request)));
        EXPECT_EQ(client.receive().header().status, EOPNOTSUPP);
    }
}

TEST_F(HostileTest, ATornHeaderEndsTheConnection) {
    for (const std::size_t size : {1u, 7u}) {
        RawClient client;
        greet(client);
        const std::vector<std::byte> record(size);
        ASSERT_TRUE(client.send_raw(record));
        EXPECT_TRUE(client.receive().closed);
    }
    expect_service();
}

TEST_F(HostileTest, WhoDoesNotReadRepliesIsDropped) {
    RawClient client;
    greet(client);
    vroce_simple_request request{};
    request.header = {VROCE_QUERY_DEVICE, sizeof request};
    fcntl(client.fd(), F_SETFL, O_NONBLOCK);
    EXPECT_TRUE(eventually([&] {
        while (client.send_raw(bytes_of(request))) {
        }
        return bench.counter("dropped_unread_replies") == 1;
    }));
    EXPECT_TRUE(eventually([&] { return bench.context_count() == 0; }));
    expect_service();
}

TEST_F(HostileTest, AFloodDoesNotKeepOthersWaiting) {
    RawClient flooder;
    greet(flooder);
    std::atomic<bool> stop{false};
    std::thread flood([&] {
        vroce_simple_request request{};
        request.header = {4'711, sizeof request};
        while (!stop && flooder.send_raw(bytes_of(request))) static_cast<void>(flooder.receive());
    });
    for (int i = 0; i < 20; ++i) expect_service();
    stop = true;
    flood.join();
}

TEST_F(HostileTest, HandlesOfOthersAreNobodys) {
    RawClient owner;
    greet(owner);
    std::uint32_t pd = 0;
    ClientCq cq;
    ClientQp qp;
    ASSERT_EQ(owner.alloc_pd(pd), 0);
    ASSERT_EQ(owner.create_cq(16, UINT32_MAX, 1, cq), 0);
    ASSERT_EQ(owner.create_qp(pd, cq, 2, qp), 0);
    RawClient thief;
    greet(thief);
    for (std::uint32_t handle = 0; handle < 3'000; ++handle) {
        ASSERT_EQ(thief.simple(VROCE_DESTROY_QP, handle).header().status, EINVAL);
        ASSERT_EQ(thief.simple(VROCE_QUERY_QP, handle).header().status, EINVAL);
        ASSERT_EQ(thief.simple(VROCE_DESTROY_CQ, handle).header().status, EINVAL);
        ASSERT_EQ(thief.simple(VROCE_DEALLOC_PD, handle).header().status, EINVAL);
    }
    ClientQp stolen;
    EXPECT_EQ(thief.create_qp(pd, cq, 3, stolen), EINVAL) << "another's domain and queue";
    EXPECT_EQ(bench.qp_count(), 1u);
    EXPECT_EQ(owner.simple(VROCE_QUERY_QP, qp.reply.handle).header().status, 0);
    EXPECT_EQ(owner.simple(VROCE_DESTROY_QP, qp.reply.handle).header().status, 0);
    EXPECT_EQ(owner.simple(VROCE_DESTROY_QP, qp.reply.handle).header().status, EINVAL) << "twice";
}

TEST_F(HostileTest, AKeyOfAnotherContextOpensNothing) {
    std::vector<std::uint8_t> secret(4'096, 0x5A);
    RawClient owner;
    greet(owner);
    std::uint32_t pd = 0;
    vroce_reg_mr_reply mr{};
    ASSERT_EQ(owner.alloc_pd(pd), 0);
    ASSERT_EQ(owner.reg_mr(pd, secret.data(), secret.size(), IBV_ACCESS_LOCAL_WRITE, mr), 0);
    RawClient thief;
    greet(thief);
    ClientCq cq;
    ClientQp qp;
    ClientQp peer;
    std::uint32_t own_pd = 0;
    ASSERT_EQ(thief.alloc_pd(own_pd), 0);
    ASSERT_EQ(thief.create_cq(16, UINT32_MAX, 1, cq), 0);
    ASSERT_EQ(thief.create_qp(own_pd, cq, 2, qp), 0);
    ASSERT_EQ(thief.create_qp(own_pd, cq, 3, peer), 0);
    const std::uint8_t gid[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1};
    ASSERT_EQ(thief.connect_qp(qp, peer.reply.qpn, gid), 0);
    ASSERT_EQ(thief.connect_qp(peer, qp.reply.qpn, gid), 0);
    vroce_send_wqe wqe{};
    wqe.opcode = VROCE_WR_SEND;
    wqe.flags = VROCE_SEND_SIGNALED;
    wqe.sge_count = 1;
    thief.post_send(qp, wqe, secret.data(), 64, mr.lkey);
    std::optional<vroce_cqe> cqe;
    ASSERT_TRUE(eventually([&] { return (cqe = RawClient::poll(cq)).has_value(); }));
    EXPECT_EQ(cqe->status, IBV_WC_LOC_PROT_ERR);
}

TEST_F(HostileTest, LimitsHold) {
    RawClient client;
    greet(client);
    std::uint32_t pd = 0;
    ASSERT_EQ(client.alloc_pd(pd), 0);
    ClientCq cq;
    EXPECT_EQ(client.create_cq(0, UINT32_MAX, 1, cq), EINVAL);
    EXPECT_EQ(client.create_cq(UINT32_MAX, UINT32_MAX, 1, cq), EINVAL);
    EXPECT_EQ(client.create_cq(16, 3, 1, cq), EINVAL) << "no such channel";
    ASSERT_EQ(client.create_cq(16, UINT32_MAX, 1, cq), 0);
    ClientQp qp;
    EXPECT_EQ(client.create_qp(pd, cq, 1, qp, UINT32_MAX), EINVAL);
    // The arenas' limit: nothing is lost, and what is given back can be had again.
    std::vector<std::uint32_t> large;
    int status = 0;
    while (large.size() < 100) {
        vroce_create_cq request{};
        request.cqe = 1u << 20;
        request.channel = UINT32_MAX;
        const Reply reply = client.call(VROCE_CREATE_CQ, request);
        status = reply.header().status;
        if (status != 0) break;
        large.push_back(reply.as<vroce_create_cq_reply>().handle);
    }
    EXPECT_EQ(status, ENOMEM);
    EXPECT_GT(large.size(), 5u);
    for (const std::uint32_t handle : large) EXPECT_EQ(client.simple(VROCE_DESTROY_CQ, handle).header().status, 0);
    EXPECT_EQ(client.create_cq(1'000, UINT32_MAX, 1, cq), 0);
    for (std::uint32_t i = 0; i < 256; ++i) {
        ClientChannel channel;
        ASSERT_EQ(client.create_channel(channel), 0);
        close(channel.read_fd);
        close(channel.write_fd);
    }
    ClientChannel surplus;
    EXPECT_EQ(client.create_channel(surplus), ENOMEM);
}

TEST_F(HostileTest, ADescriptorOfTheWrongKindOrSizeIsNotMapped) {
    RawClient client;
    greet(client);
    std::uint32_t pd = 0;
    ASSERT_EQ(client.alloc_pd(pd), 0);
    std::vector<std::uint8_t> memory(8'192);
    const int null = open("/dev/zero", O_RDWR | O_CLOEXEC);
    const int small = memfd_create("small", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(small, 4'096), 0);
    for (const int fd : {null, small}) {
        vroce_reg_mr_reply mr{};
        EXPECT_EQ(client.reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE, mr, fd), 0);
        EXPECT_EQ(mr.mapped, 0u);
        close(fd);
    }
    vroce_reg_mr wraps{};
    wraps.pd = pd;
    wraps.addr = UINT64_MAX - 10;
    wraps.length = 100;
    EXPECT_EQ(client.call(VROCE_REG_MR, wraps).header().status, EINVAL);
}

TEST_F(HostileTest, AConnectionThatEndsInTheMiddleFreesAll) {
    RawClient client;
    greet(client);
    std::uint32_t pd = 0;
    ClientCq cq;
    ClientQp qp;
    ASSERT_EQ(client.alloc_pd(pd), 0);
    ASSERT_EQ(client.create_cq(16, UINT32_MAX, 1, cq), 0);
    ASSERT_EQ(client.create_qp(pd, cq, 2, qp), 0);
    vroce_simple_request request{};
    request.header = {VROCE_QUERY_DEVICE, sizeof request};
    for (int i = 0; i < 50; ++i) client.send_raw(bytes_of(request));
    client.close_socket();
    EXPECT_TRUE(eventually([&] { return bench.context_count() == 0 && bench.session_count() == 0; }));
    expect_service();
}

TEST_F(HostileTest, TheConnectionMayEndWhileANeighbourIsLookedFor) {
    RawClient client;
    greet(client);
    std::uint32_t pd = 0;
    ClientCq cq;
    ClientQp qp;
    ASSERT_EQ(client.alloc_pd(pd), 0);
    ASSERT_EQ(client.create_cq(16, UINT32_MAX, 1, cq), 0);
    ASSERT_EQ(client.create_qp(pd, cq, 2, qp), 0);
    vroce_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    ASSERT_EQ(client.modify_qp(qp, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, attr), 0);
    vroce_modify_qp request{};
    request.header = {VROCE_MODIFY_QP, sizeof request};
    request.handle = qp.reply.handle;
    request.attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    request.attr.qp_state = IBV_QPS_RTR;
    request.attr.path_mtu = IBV_MTU_1024;
    request.attr.ah_is_global = 1;
    request.attr.grh_dgid[0] = 0xfd;
    ASSERT_TRUE(client.send_raw(bytes_of(request)));
    ASSERT_TRUE(eventually([&] { return bench.counter("resolves_asked") == 1; }));
    client.close_socket();
    EXPECT_TRUE(eventually([&] { return bench.context_count() == 0; }));
    bench.on_control([&] { bench.resolver().answer_all(0, {}); });
    expect_service();
}

TEST_F(HostileTest, RandomMessagesHarmNobody) {
    const unsigned seed = std::random_device()();
    RecordProperty("seed", static_cast<int>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    RawClient bystander;
    greet(bystander);
    constexpr std::size_t kSizes[] = {16, 16, 16, 16, 48, 32, 56, 96};
    constexpr std::uint32_t kWords[] = {0, 1, 2, 3, 7, 0x7FFFFFFF, 0x80000000, UINT32_MAX};
    for (int connection = 0; connection < 20; ++connection) {
        RawClient client;
        greet(client);
        for (int i = 0; i < 300; ++i) {
            std::vector<std::byte> record(random() % 8 == 0 ? random() % 1'100 + 8 : kSizes[random() % 8]);
            for (std::size_t at = 0; at + 4 <= record.size(); at += 4) {
                const auto word = random() % 2 == 0 ? kWords[random() % 8] : static_cast<std::uint32_t>(random());
                std::memcpy(record.data() + at, &word, sizeof word);
            }
            // Never HELLO, whose descriptor the others need, and sizes that often fit.
            vroce_request_header header{2 + static_cast<std::uint32_t>(random()) % 15,
                                        static_cast<std::uint32_t>(record.size())};
            std::memcpy(record.data(), &header, sizeof header);
            ASSERT_TRUE(client.send_raw(record));
            // A MODIFY_QP that was taken for a real destination is answered late.
            pollfd wait{client.fd(), POLLIN, 0};
            if (poll(&wait, 1, 500) != 1) break;
            ASSERT_FALSE(client.receive().closed);
        }
        ASSERT_EQ(bystander.simple(VROCE_QUERY_PORT).header().status, 0);
    }
}

TEST_F(HostileTest, RandomDoorbellsAndRingsHarmNobody) {
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 20; ++round) {
        RawClient client;
        greet(client);
        std::uint32_t pd = 0;
        ClientCq cq;
        ClientQp a;
        ClientQp b;
        ASSERT_EQ(client.alloc_pd(pd), 0);
        ASSERT_EQ(client.create_cq(16, UINT32_MAX, 1, cq), 0);
        ASSERT_EQ(client.create_qp(pd, cq, 2, a), 0);
        ASSERT_EQ(client.create_qp(pd, cq, 3, b), 0);
        const std::uint8_t gid[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1};
        ASSERT_EQ(client.connect_qp(a, b.reply.qpn, gid), 0);
        ASSERT_EQ(client.connect_qp(b, a.reply.qpn, gid), 0);
        for (int i = 0; i < 50; ++i) {
            for (ClientQp* qp : {&a, &b}) {
                const std::size_t bytes = std::size_t{qp->reply.sq.slots} * qp->reply.sq.stride;
                for (std::size_t at = 0; at + 4 <= bytes; at += 4) {
                    const auto word = static_cast<std::uint32_t>(random() % 4 == 0 ? random() : random() % 8);
                    std::memcpy(qp->sq + at, &word, sizeof word);
                }
                qp->control->sq_producer = static_cast<std::uint32_t>(random());
                qp->control->rq_producer = static_cast<std::uint32_t>(random());
            }
            cq.control->consumer = static_cast<std::uint32_t>(random());
            cq.control->armed = static_cast<std::uint32_t>(random());
            for (int bell = 0; bell < 10; ++bell) client.ring(static_cast<std::uint32_t>(random()) % 16'384);
        }
    }
    expect_service();
}

TEST_F(HostileTest, NobodyTakesAnothersWakeUps) {
    const auto rung = [&](int timeout_ms) {
        pollfd wait{bench.doorbells().fd(), POLLIN, 0};
        return poll(&wait, 1, timeout_ms) == 1;
    };
    RawClient thief;
    RawClient good;
    greet(thief);
    greet(good);
    EXPECT_FALSE(rung(0));
    bench.pretend_to_sleep(true);
    good.ring(0);
    std::uint64_t count = 0;
    EXPECT_EQ(read(thief.event_fd(), &count, sizeof count), -1) << "its own was not rung";
    EXPECT_TRUE(rung(1'000));
    bench.doorbells().clear();
    EXPECT_FALSE(rung(0));
    good.ring(1);
    EXPECT_TRUE(rung(1'000)) << "each ringing counts, though nobody reads the count";
    bench.doorbells().clear();
    good.close_socket();
    EXPECT_TRUE(eventually([&] { return bench.session_count() == 1; }));
    good.ring(2);
    EXPECT_FALSE(rung(50)) << "whose session has ended";
}

TEST_F(HostileTest, TooManySessionsOfOneUserAreRefused) {
    if (getuid() != 0) GTEST_SKIP() << "root holds 1,024 connections here";
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 1'100; ++i) {
        clients.push_back(std::make_unique<RawClient>());
        if (!clients.back()->connect(bench.session_path())) break;
    }
    EXPECT_TRUE(eventually([&] { return bench.counter("refused_too_many_sessions") > 0; }));
    clients.clear();
    EXPECT_TRUE(eventually([&] { return bench.session_count() == 0; }));
    expect_service();
}

}  // namespace
}  // namespace vroce::test
