// The control socket between real sockets, with clients that do not mean well.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "common/base/random.hpp"
#include "common/control/control_client.hpp"
#include "common/control/control_server.hpp"

namespace vroce {
namespace {

class ControlTest : public ::testing::Test {
protected:
    ControlTest() : path_(::testing::TempDir() + "vroce-control-" + std::to_string(getpid()) + ".sock") {
        auto server = ControlServer::listen(path_);
        if (!server) throw std::runtime_error(server.error());
        server_ = std::move(*server);
        server_->handle("echo", [](const nlohmann::json& args) -> Result<nlohmann::json> { return args; });
        server_->handle("refuse",
                        [](const nlohmann::json&) -> Result<nlohmann::json> { return Error{"no, thank you"}; });
        server_->handle(
            "throw", [](const nlohmann::json&) -> Result<nlohmann::json> { throw std::runtime_error("out of luck"); });
        server_->handle("long", [](const nlohmann::json&) -> Result<nlohmann::json> {
            return nlohmann::json(std::string(32u << 20, 'x'));
        });
        server_->handle("typed", [](const nlohmann::json& args) -> Result<nlohmann::json> {
            return nlohmann::json(args.at("number").get<int>());
        });
        thread_ = std::thread([this] {
            while (!stop_) {
                pollfd ready{server_->fd(), POLLIN, 0};
                poll(&ready, 1, 10);
                server_->serve();
            }
        });
    }
    ~ControlTest() override {
        stop_ = true;
        thread_.join();
    }
    [[nodiscard]] int raw_client() const {
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return fd;
    }
    static std::string ask(int fd, const std::string& text) {
        send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        std::string reply(70'000, '\0');
        const ssize_t size = recv(fd, reply.data(), reply.size(), 0);
        return size > 0 ? reply.substr(0, static_cast<std::size_t>(size)) : "";
    }

    std::string path_;
    std::unique_ptr<ControlServer> server_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

TEST_F(ControlTest, AnswersAndRefuses) {
    EXPECT_EQ(*control_call(path_, "echo", {{"x", 1}}), (nlohmann::json{{"x", 1}}));
    EXPECT_EQ(control_call(path_, "refuse").error(), "no, thank you");
    const auto unknown = control_call(path_, "dance");
    ASSERT_FALSE(static_cast<bool>(unknown));
    EXPECT_EQ(unknown.error(), "unknown command 'dance'; allowed: echo, long, refuse, throw, typed");
}

TEST_F(ControlTest, ArgumentsOfTheWrongTypeAreRefusedNotFatal) {
    EXPECT_FALSE(static_cast<bool>(control_call(path_, "typed", {{"number", "seven"}})));
    EXPECT_FALSE(static_cast<bool>(control_call(path_, "typed")));
    EXPECT_EQ(*control_call(path_, "typed", {{"number", 7}}), 7);
}

TEST_F(ControlTest, HostileRequestsGetOneLineEach) {
    const int fd = raw_client();
    for (const std::string& text :
         {std::string("{"), std::string("[]"), std::string("\xff\xfe"), std::string(R"({"command": 3})"),
          std::string(60'000, '['), std::string(65'537, 'a'),
          std::string(R"({"command": "echo", "args": "\ud800"})")}) {
        const std::string reply = ask(fd, text);
        EXPECT_NE(reply.find(R"("ok":false)"), std::string::npos)
            << text.substr(0, 40) << " -> " << reply.substr(0, 80);
    }
    EXPECT_NE(ask(fd, R"({"command": "echo"})").find(R"("ok":true)"), std::string::npos);
    close(fd);
}

TEST_F(ControlTest, ManyRandomRecordsLeaveItAnswering) {
    const int fd = raw_client();
    Random random(5);
    for (int i = 0; i < 500; ++i) {
        std::string text(random.below(300) + 1, '\0');
        for (char& c : text) c = static_cast<char>(random.next_u64());
        ASSERT_NE(ask(fd, text), "") << i;
    }
    close(fd);
}

TEST_F(ControlTest, AClientThatDoesNotReadStopsNobody) {
    const int silent = raw_client();
    const std::string request = R"({"command": "echo", "args": {"x": ")" + std::string(50'000, 'y') + "\"}}";
    for (int i = 0; i < 400; ++i)
        if (send(silent, request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) usleep(1'000);
    EXPECT_EQ(*control_call(path_, "echo", {{"x", 2}}), (nlohmann::json{{"x", 2}}));
    close(silent);
}

TEST_F(ControlTest, ASilentCrowdLocksNobodyOut) {
    std::vector<int> crowd;
    for (std::size_t i = 0; i < 2 * ControlServer::kClientsMax; ++i) crowd.push_back(raw_client());
    EXPECT_EQ(*control_call(path_, "echo", {{"x", 3}}), (nlohmann::json{{"x", 3}}));
    EXPECT_NE(ask(crowd.back(), R"({"command": "echo"})").find(R"("ok":true)"), std::string::npos);
    for (const int fd : crowd) close(fd);
}

TEST_F(ControlTest, WhateverAHandlerThrowsIsARefusal) {
    EXPECT_EQ(control_call(path_, "throw").error(), "throw: out of luck");
}

TEST_F(ControlTest, AnAnswerThatNoSocketCarriesIsARefusalNotSilence) {
    EXPECT_NE(control_call(path_, "long").error().find("longer than"), std::string::npos);
}

TEST_F(ControlTest, AWordThatIsNotUtf8ComesBackAsAnAnswer) {
    EXPECT_EQ(*control_call(path_, "echo", {{"x", "\xff"}}), (nlohmann::json{{"x", "\xef\xbf\xbd"}}));
}

TEST_F(ControlTest, ASecondProcessOfTheNameIsRefused) {
    const auto second = ControlServer::listen(path_);
    ASSERT_FALSE(static_cast<bool>(second));
    EXPECT_NE(second.error().find("another process of this name is running"), std::string::npos);
    EXPECT_TRUE(static_cast<bool>(control_call(path_, "echo"))) << "and the first one's socket is untouched";
}

TEST_F(ControlTest, IsForItsOwnUserOnly) {
    struct stat status {};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(ControlServerAlone, ReplacesTheSocketOfADeadProcess) {
    const std::string path = ::testing::TempDir() + "vroce-stale-" + std::to_string(getpid()) + ".sock";
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(fd);
    EXPECT_TRUE(static_cast<bool>(ControlServer::listen(path)));
    EXPECT_NE(access(path.c_str(), F_OK), 0) << "and takes its own away at the end";
}

/// A server that accepts nobody, or answers what it likes.
class OddServer {
public:
    OddServer() : path_(::testing::TempDir() + "vroce-odd-" + std::to_string(getpid()) + ".sock") {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(listen(fd_, 0), 0);
    }
    ~OddServer() {
        close(fd_);
        unlink(path_.c_str());
    }
    OddServer(const OddServer&) = delete;
    OddServer& operator=(const OddServer&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }
    void answer(const std::string& text) const {
        const int client = accept(fd_, nullptr, nullptr);
        char request[256];
        EXPECT_GT(recv(client, request, sizeof request, 0), 0);
        EXPECT_GT(send(client, text.data(), text.size(), MSG_NOSIGNAL), 0);
        close(client);
    }

private:
    std::string path_;
    int fd_ = -1;
};

TEST(ControlClient, DoesNotWaitForEver) {
    const OddServer server;
    EXPECT_NE(control_call(server.path(), "status", nlohmann::json::object(), milliseconds(20)).error().find("in time"),
              std::string::npos);
}

TEST(ControlServerAlone, AProcessThatIsTooBusyToAcceptIsAliveAndNotWaitedFor) {
    const OddServer busy;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    busy.path().copy(address.sun_path, sizeof address.sun_path - 1);
    std::vector<int> waiting;
    for (int i = 0; i < 4; ++i) {
        waiting.push_back(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        static_cast<void>(connect(waiting.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    }
    EXPECT_NE(ControlServer::listen(busy.path()).error().find("is running"), std::string::npos);
    for (const int fd : waiting) close(fd);
}

TEST(ControlClient, RefusesAnswersThatAreNone) {
    for (const char* text :
         {"{", "[]", "{}", R"({"ok": false})", R"({"ok": false, "error": {"a": 1}})", R"({"ok": 1})"}) {
        const OddServer server;
        std::thread thread([&] { server.answer(text); });
        const auto result = control_call(server.path(), "status");
        thread.join();
        ASSERT_FALSE(static_cast<bool>(result)) << text;
        EXPECT_FALSE(result.error().empty());
    }
}

TEST(ControlClient, SaysWhatIsMissing) {
    EXPECT_NE(control_call("/nonexistent/control.sock", "status").error().find("No such file"), std::string::npos);
    EXPECT_NE(control_call(std::string(200, 'x'), "status").error().find("longer than"), std::string::npos);
}

}  // namespace
}  // namespace vroce
