// Both sides of a doorbell in one process, and peers that are none of ours.
#include "common/dpdk/doorbell.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/unit/common/dpdk/environment.hpp"

namespace vroce {
namespace {

using test::await;
using test::is_readable;

constexpr std::uint64_t kHello = 0x7672'6f63'6562'0001;

class DoorbellTest : public ::testing::Test {
protected:
    std::unique_ptr<Doorbell> create(DoorbellRole role) {
        auto made = Doorbell::create(path_, role);
        EXPECT_TRUE(made) << made.error();
        return std::move(*made);
    }
    void serve() {
        if (server_) server_->serve();
        if (client_) client_->serve();
    }
    void join() {
        ASSERT_TRUE(await([this] {
            serve();
            return server_->connected() && client_->connected();
        }));
        for (Doorbell* doorbell : {server_.get(), client_.get()}) calm(*doorbell);
    }
    /// Takes what woke it.
    static void calm(Doorbell& doorbell) {
        doorbell.set_sleeping(false);
        EXPECT_FALSE(is_readable(doorbell.wake_fd()));
    }
    [[nodiscard]] int stranger(bool listening) const {
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        const auto* where = reinterpret_cast<const sockaddr*>(&address);
        if (listening) {
            EXPECT_EQ(bind(fd, where, sizeof address), 0);
            EXPECT_EQ(listen(fd, 4), 0);
        } else {
            EXPECT_EQ(connect(fd, where, sizeof address), 0);
        }
        return fd;
    }
    static void say(int fd, std::uint64_t word, const std::vector<int>& fds) {
        iovec data{&word, sizeof word};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
        msghdr message{};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        if (!fds.empty()) {
            message.msg_control = control.data();
            message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
            cmsghdr* header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
            std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
        }
        EXPECT_GT(sendmsg(fd, &message, MSG_NOSIGNAL), 0);
    }

    test::TemporaryDirectory directory_;
    std::string path_ = directory_.file("port.doorbell");
    std::unique_ptr<Doorbell> server_;
    std::unique_ptr<Doorbell> client_;
};

TEST_F(DoorbellTest, RingsOnlyForWhoSleepsAndOnce) {
    server_ = create(DoorbellRole::Server);
    client_ = create(DoorbellRole::Client);
    join();
    const auto each_way = [](Doorbell& ringer, Doorbell& sleeper) {
        ringer.ring();
        EXPECT_FALSE(is_readable(sleeper.wake_fd())) << "it is awake";
        sleeper.set_sleeping(true);
        EXPECT_FALSE(is_readable(sleeper.wake_fd()));
        ringer.ring();
        EXPECT_TRUE(is_readable(sleeper.wake_fd()));
        ringer.ring();
        std::uint64_t count = 0;
        ASSERT_EQ(read(sleeper.wake_fd(), &count, sizeof count), static_cast<ssize_t>(sizeof count));
        EXPECT_EQ(count, 1u) << "one call for any number of frames";
        sleeper.set_sleeping(false);
        EXPECT_FALSE(is_readable(ringer.wake_fd())) << "and nobody wakes himself";
    };
    each_way(*server_, *client_);
    each_way(*client_, *server_);
}

TEST_F(DoorbellTest, LosesNoRingBetweenTwoThreads) {
    server_ = create(DoorbellRole::Server);
    client_ = create(DoorbellRole::Client);
    join();
    constexpr std::uint64_t kFrames = 20'000;
    std::atomic<std::uint64_t> ring{0};
    std::thread producer([&] {
        for (std::uint64_t i = 1; i <= kFrames; ++i) {
            ring.store(i, std::memory_order_relaxed);  // the doorbell's fences order it
            server_->ring();
            if (i % 8 == 0) std::this_thread::yield();
        }
    });
    std::uint64_t seen = 0;
    bool lost = false;
    while (seen < kFrames && !lost) {
        seen = ring.load(std::memory_order_relaxed);
        if (seen == kFrames) break;
        client_->set_sleeping(true);
        if (ring.load(std::memory_order_relaxed) == seen)
            lost = !await([&] { return is_readable(client_->wake_fd()); });
        client_->set_sleeping(false);
    }
    producer.join();
    EXPECT_FALSE(lost) << "asleep at " << seen << " while the ring held " << ring.load();
}

TEST_F(DoorbellTest, AWriteThatComesLateDoesNotKeepASleeperAwakeForEver) {
    server_ = create(DoorbellRole::Server);
    client_ = create(DoorbellRole::Client);
    join();
    const std::uint64_t one = 1;
    ASSERT_EQ(write(client_->wake_fd(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    for (int i = 0; i < 64; ++i) {
        client_->set_sleeping(true);
        client_->set_sleeping(false);
    }
    EXPECT_FALSE(is_readable(client_->wake_fd()));
}

TEST_F(DoorbellTest, EitherSideMayDieAndComeAgain) {
    server_ = create(DoorbellRole::Server);
    client_ = create(DoorbellRole::Client);
    join();
    const int client_fd = client_->wake_fd();
    for (int life = 0; life < 3; ++life) {
        client_->set_sleeping(true);
        server_.reset();
        ASSERT_TRUE(await([this] {
            serve();
            return !client_->connected();
        }));
        EXPECT_TRUE(is_readable(client_fd)) << "who slept in trust of the peer is woken";
        calm(*client_);
        client_->ring();  // into nothing
        server_ = create(DoorbellRole::Server);
        join();

        server_->set_sleeping(true);
        client_.reset();
        ASSERT_TRUE(await([this] {
            serve();
            return !server_->connected();
        }));
        EXPECT_TRUE(is_readable(server_->wake_fd()));
        calm(*server_);
        client_ = create(DoorbellRole::Client);
        join();
        EXPECT_EQ(client_->wake_fd() >= 0, true);
        client_->set_sleeping(true);
        server_->ring();
        EXPECT_TRUE(is_readable(client_->wake_fd())) << "the new pair rings";
        calm(*client_);
    }
}

TEST_F(DoorbellTest, AWorkerThatFellAsleepBeforeItsPeerCameIsWoken) {
    server_ = create(DoorbellRole::Server);
    client_ = create(DoorbellRole::Client);
    client_->set_sleeping(true);
    ASSERT_TRUE(await([this] {
        serve();
        return client_->connected();
    }));
    EXPECT_TRUE(is_readable(client_->wake_fd())) << "it has said so in a page that nobody reads";
}

TEST_F(DoorbellTest, AFrameThatWasSentBeforeTheRingersSideWasReadyWakesThePeer) {
    server_ = create(DoorbellRole::Server);
    client_ = create(DoorbellRole::Client);
    ASSERT_TRUE(await([this] {
        server_->serve();
        return server_->connected();
    }));
    calm(*server_);
    server_->set_sleeping(true);  // in trust of a client that has not yet heard of it
    client_->ring();
    EXPECT_FALSE(is_readable(server_->wake_fd()));
    ASSERT_TRUE(await([this] {
        client_->serve();
        return client_->connected();
    }));
    EXPECT_TRUE(is_readable(server_->wake_fd()));
}

TEST_F(DoorbellTest, AServerTakesNothingFromStrangers) {
    server_ = create(DoorbellRole::Server);
    int pipe_fds[2];
    ASSERT_EQ(pipe(pipe_fds), 0);
    const int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    const std::vector<std::pair<std::uint64_t, std::vector<int>>> hellos{
        {kHello, {}}, {kHello, {pipe_fds[1]}}, {kHello, {event, event}}, {kHello + 1, {event}}, {0, {}}};
    for (const auto& [word, fds] : hellos) {
        const int fd = stranger(false);
        say(fd, word, fds);
        char byte = 0;
        EXPECT_TRUE(await([&] {
            server_->serve();
            return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
        })) << "it hangs up";
        EXPECT_FALSE(server_->connected());
        server_->ring();
        close(fd);
    }
    for (const int fd : {pipe_fds[0], pipe_fds[1], event}) close(fd);
    client_ = create(DoorbellRole::Client);
    join();
}

TEST_F(DoorbellTest, AClientMapsNoPageThatCouldVanish) {
    const int listener = stranger(true);
    const int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    const int open_page = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const int short_page = memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(open_page, 4'096), 0);
    ASSERT_EQ(ftruncate(short_page, 4'095), 0);
    ASSERT_EQ(fcntl(short_page, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    client_ = create(DoorbellRole::Client);
    for (const int page : {open_page, short_page, event}) {
        const int fd = accept(listener, nullptr, nullptr);
        ASSERT_GE(fd, 0);
        say(fd, kHello, {page, event});
        client_->serve();
        EXPECT_FALSE(client_->connected());
        client_->set_sleeping(true);
        client_->set_sleeping(false);
        client_->ring();
        close(fd);
        client_->serve();  // and tries the next
    }
    for (const int fd : {listener, event, open_page, short_page}) close(fd);
}

TEST_F(DoorbellTest, SaysWhatIsWrong) {
    EXPECT_NE(Doorbell::create(std::string(200, 'x'), DoorbellRole::Server).error().find("longer than"),
              std::string::npos);
    EXPECT_NE(Doorbell::create("/nonexistent/d/x", DoorbellRole::Server).error().find("cannot listen"),
              std::string::npos);
}

}  // namespace
}  // namespace vroce
