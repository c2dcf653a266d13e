#include "tests/unit/common/dpdk/environment.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "common/dpdk/clock.hpp"
#include "common/dpdk/eal.hpp"
#include "common/dpdk/ethdev_port.hpp"
#include "common/dpdk/worker_sleeper.hpp"

namespace vroce::test {
namespace {

constexpr std::uint32_t kFrameBytes = 9'216;

Status start(const std::string& name, const std::string& run_dir) {
    EalOptions options;
    options.name = name;
    options.run_dir = run_dir;
    options.memory_mib = 64;
    options.no_huge = true;
    return start_eal(options);
}

class Environment final : public ::testing::Environment {
public:
    void SetUp() override {
        const Status started = start("common-test", directory_.path());
        ASSERT_TRUE(started) << started.error();
        auto made = MbufPool::create("common-test", 2'048, kFrameBytes);
        ASSERT_TRUE(made) << made.error();
        pool_ = std::move(*made);
    }
    void TearDown() override {
        pool_.reset();
        stop_eal();
    }
    TemporaryDirectory directory_;
    std::unique_ptr<MbufPool> pool_;
};
Environment* environment = nullptr;

void echo(EthdevPort& port) {
    std::array<Packet*, 32> packets;
    const TscClock clock;
    WorkerSleeper sleeper(PollMode::Adaptive);
    sleeper.add(port.wake_fd());
    const auto round = [&] {
        const std::size_t count = port.receive(packets);
        for (std::size_t i = 0; i < count; ++i) std::swap(packets[i]->data[0], packets[i]->data[1]);
        for (std::size_t sent = 0; sent < count;)
            sent += port.link_up() ? port.send({packets.data() + sent, count - sent}) : (release(packets[sent]), 1);
        if (count != 0) port.ring_doorbell();
        return count != 0;
    };
    for (;;) {
        const Instant now = clock.now();
        port.update_link(now);
        if (!sleeper.should_sleep(now, round())) continue;
        port.set_sleeping(true);
        if (!round()) sleeper.sleep(now, port.next_poll(now));
        port.set_sleeping(false);
    }
}

int run_peer(const std::string& role, const std::string& socket, const std::string& run_dir) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!start("common-peer", run_dir)) return 1;
    auto made = MbufPool::create("common-peer", 2'048, kFrameBytes);
    if (!made) return 2;
    EthdevPortOptions options;
    options.devargs = "net_memif0,role=" + role + ",socket=" + socket;
    auto port = EthdevPort::open(options, **made);
    if (!port) return 3;
    std::thread([doorbell = (*port)->doorbell()] {
        for (;;) {
            pollfd ready{doorbell->fd(), POLLIN, 0};
            poll(&ready, 1, 100);
            doorbell->serve();
        }
    }).detach();
    echo(**port);
    return 0;
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
    char name[] = "/tmp/vroce-test-XXXXXX";
    path_ = mkdtemp(name);
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

const std::string& run_directory() {
    return environment->directory_.path();
}

MbufPool& pool() {
    return *environment->pool_;
}

bool await(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

bool is_readable(int fd) {
    pollfd ready{fd, POLLIN, 0};
    return poll(&ready, 1, 0) == 1;
}

EchoPeer::EchoPeer(const std::string& role, const std::string& memif_socket) : pid_(fork()) {
    if (pid_ != 0) return;
    execl("/proc/self/exe", "echo-peer", "--peer", role.c_str(), memif_socket.c_str(), directory_.path().c_str(),
          nullptr);
    _exit(127);
}

void EchoPeer::kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

}  // namespace vroce::test

int main(int argc, char** argv) {
    if (argc == 5 && std::string(argv[1]) == "--peer") return vroce::test::run_peer(argv[2], argv[3], argv[4]);
    ::testing::InitGoogleTest(&argc, argv);
    vroce::test::environment = new vroce::test::Environment;
    ::testing::AddGlobalTestEnvironment(vroce::test::environment);
    return RUN_ALL_TESTS();
}
