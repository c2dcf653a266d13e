// Applications that die, and applications of other users.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "tests/abi/nic_bench.hpp"
#include "tests/abi/raw_client.hpp"

namespace vroce::test {
namespace {

constexpr std::chrono::milliseconds kFreedWithin{1'000};
constexpr uid_t kNobody = 65'534;
const std::uint8_t kOwnGid[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1};

/// A forked application: runs `act` on a client that has said hello, reports what it returned, and stays.
class Child {
public:
    template <typename Act>
    Child(const std::string& path, Act act) {
        std::array<int, 2> report{};
        if (pipe2(report.data(), O_CLOEXEC) != 0) std::abort();
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            RawClient client;
            const int result = act(client, path);
            [[maybe_unused]] const auto written = write(report[1], &result, sizeof result);
            for (;;) pause();
        }
        close(report[1]);
        report_fd_ = report[0];
    }
    ~Child() {
        kill9();
        close(report_fd_);
    }
    /// What `act` returned; -1 when it does not say.
    int result() const {
        int value = -1;
        pollfd wait{report_fd_, POLLIN, 0};
        if (poll(&wait, 1, 20'000) != 1 || read(report_fd_, &value, sizeof value) != sizeof value) return -1;
        return value;
    }
    void kill9() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

private:
    pid_t pid_ = -1;
    int report_fd_ = -1;
};

int open_device(RawClient& client, const std::string& path) {
    return client.connect(path) ? client.hello() : ECONNREFUSED;
}

/// As a program that another user starts; /proc/self/mem stays its own.
void become_nobody() {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) std::abort();
    prctl(PR_SET_DUMPABLE, 1);
}

struct Pair {
    std::uint32_t pd = 0;
    ClientCq cq;
    ClientQp a;
    ClientQp b;

    int make(RawClient& client) {
        int error = client.alloc_pd(pd);
        if (error == 0) error = client.create_cq(64, UINT32_MAX, 1, cq);
        if (error == 0) error = client.create_qp(pd, cq, 2, a);
        if (error == 0) error = client.create_qp(pd, cq, 3, b);
        if (error == 0) error = client.connect_qp(a, b.reply.qpn, kOwnGid);
        if (error == 0) error = client.connect_qp(b, a.reply.qpn, kOwnGid);
        return error;
    }
};

int hold_qps(RawClient& client, const std::string& path, int count) {
    if (const int error = open_device(client, path)) return error;
    std::uint32_t pd = 0;
    ClientCq cq;
    if (const int error = client.alloc_pd(pd)) return error;
    if (const int error = client.create_cq(64, UINT32_MAX, 1, cq)) return error;
    for (int i = 0; i < count; ++i) {
        ClientQp qp;
        if (const int error = client.create_qp(pd, cq, 2, qp)) return error;
        if (i < 8 && client.connect_qp(qp, qp.reply.qpn, kOwnGid) != 0) return EIO;
    }
    return 0;
}

class DeathTest : public ::testing::Test {
protected:
    NicBench bench;
};

TEST_F(DeathTest, Kill9FreesAllWithinASecond) {
    Child child(bench.session_path(),
                [](RawClient& client, const std::string& path) { return hold_qps(client, path, 16); });
    ASSERT_EQ(child.result(), 0);
    EXPECT_EQ(bench.qp_count(), 16u);
    child.kill9();
    EXPECT_TRUE(eventually([&] { return bench.context_count() == 0; }, kFreedWithin));
    EXPECT_EQ(bench.qp_count(), 0u);
}

TEST_F(DeathTest, AThousandQueuePairsGoAsFast) {
    Child child(bench.session_path(),
                [](RawClient& client, const std::string& path) { return hold_qps(client, path, 1'000); });
    ASSERT_EQ(child.result(), 0);
    EXPECT_EQ(bench.qp_count(), 1'000u);
    child.kill9();
    EXPECT_TRUE(eventually([&] { return bench.context_count() == 0; }, kFreedWithin));
    EXPECT_EQ(bench.qp_count(), 0u);
}

TEST_F(DeathTest, AForkedChildThatHoldsTheConnectionDoesNotKeepItAlive) {
    std::array<int, 2> hold{};
    ASSERT_EQ(pipe2(hold.data(), O_CLOEXEC), 0);
    Child child(bench.session_path(), [&](RawClient& client, const std::string& path) {
        const int error = hold_qps(client, path, 4);
        if (fork() == 0) {
            close(hold[1]);
            char byte = 0;
            [[maybe_unused]] const auto got = read(hold[0], &byte, 1);  // until the test ends
            _exit(0);
        }
        return error;
    });
    close(hold[0]);
    ASSERT_EQ(child.result(), 0);
    child.kill9();
    EXPECT_TRUE(eventually([&] { return bench.context_count() == 0; }, kFreedWithin));
    EXPECT_EQ(bench.counter("sessions_died"), 1u);
    close(hold[1]);
}

TEST_F(DeathTest, AnotherUsersMemoryIsReachedThroughACopier) {
    if (getuid() != 0) GTEST_SKIP() << "needs root, to become another user";
    Child child(bench.session_path(), [](RawClient& client, const std::string& path) {
        become_nobody();
        if (const int error = open_device(client, path)) return error;
        Pair pair;
        if (const int error = pair.make(client)) return error;
        static std::uint8_t from[20'000];
        static std::uint8_t to[20'000];
        for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<std::uint8_t>(i * 7);
        vroce_reg_mr_reply from_mr{};
        vroce_reg_mr_reply to_mr{};
        client.reg_mr(pair.pd, from, sizeof from, 7, from_mr);
        client.reg_mr(pair.pd, to, sizeof to, 7, to_mr);
        client.post_recv(pair.b, 1, to, sizeof to, to_mr.lkey);
        vroce_send_wqe wqe{};
        wqe.opcode = VROCE_WR_SEND;
        wqe.flags = VROCE_SEND_SIGNALED;
        wqe.sge_count = 1;
        client.post_send(pair.a, wqe, from, sizeof from, from_mr.lkey);
        int done = 0;
        const bool ended = eventually([&] {
            while (const auto cqe = RawClient::poll(pair.cq)) {
                if (cqe->status != IBV_WC_SUCCESS) return false;
                ++done;
            }
            return done == 2;
        });
        return ended && std::memcmp(from, to, sizeof from) == 0 ? 0 : EIO;
    });
    EXPECT_EQ(child.result(), 0);
    nlohmann::json endpoint;
    bench.on_control([&] { endpoint = bench.endpoint().show(); });
    EXPECT_EQ(endpoint["sessions"][0]["memory"], "copier");
}

/// A page that nobody ever fills: who touches it waits.
std::uint8_t* bottomless_page() {
    const int fd = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
    uffdio_api api{UFFD_API, 0, 0};
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0) return nullptr;
    void* page = mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_register range{{reinterpret_cast<std::uint64_t>(page), 4'096}, UFFDIO_REGISTER_MODE_MISSING, 0};
    return ioctl(fd, UFFDIO_REGISTER, &range) == 0 ? static_cast<std::uint8_t*>(page) : nullptr;
}

TEST_F(DeathTest, APageThatNeverComesHoldsUpNobodyElse) {
    if (getuid() != 0) GTEST_SKIP() << "needs root, for a userfaultfd of another user";
    Child child(bench.session_path(), [](RawClient& client, const std::string& path) {
        std::uint8_t* page = bottomless_page();
        if (page == nullptr) return -ENOSYS;
        become_nobody();
        if (const int error = open_device(client, path)) return error;
        Pair pair;
        if (const int error = pair.make(client)) return error;
        vroce_reg_mr_reply mr{};
        if (const int error = client.reg_mr(pair.pd, page, 4'096, 7, mr)) return error;
        vroce_send_wqe wqe{};
        wqe.opcode = VROCE_WR_SEND;
        wqe.flags = VROCE_SEND_SIGNALED;
        wqe.sge_count = 1;
        client.post_send(pair.a, wqe, page, 4'096, mr.lkey);
        usleep(200'000);  // the copier is at it by then
        client.close_socket();
        return 0;
    });
    const int result = child.result();
    if (result == -ENOSYS) GTEST_SKIP() << "this kernel has no userfaultfd";
    ASSERT_EQ(result, 0);
    EXPECT_TRUE(eventually([&] { return bench.context_count() == 0; }, kFreedWithin)) << "it closed its device";
    // Whether the kernel lets the copier wait or refuses it depends on its version; nobody may notice either.
    RawClient other;
    ASSERT_TRUE(other.connect(bench.session_path()));
    EXPECT_EQ(other.hello(), 0);
    Pair pair;
    EXPECT_EQ(pair.make(other), 0);
    child.kill9();
    EXPECT_TRUE(eventually([&] { return bench.session_count() == 1; }, kFreedWithin)) << "only the other one's";
}

}  // namespace
}  // namespace vroce::test
