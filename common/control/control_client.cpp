#include "common/control/control_client.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace vroce {

namespace {

constexpr std::size_t kReplyBytesMax = 8u << 20;

class Socket {
public:
    explicit Socket(int fd) : fd_(fd) {}
    ~Socket() {
        if (fd_ >= 0) close(fd_);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    [[nodiscard]] int fd() const { return fd_; }

private:
    int fd_;
};

Error system_error(const std::string& path, const char* what) {
    return Error{path + ": " + what + ": " + std::strerror(errno)};
}

Status connect_to(const Socket& socket, const std::string& path, Duration timeout) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return Error{path + ": longer than a socket's path may be (107 bytes)"};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const timeval tv{timeout.ps / 1'000'000'000'000, (timeout.ps / 1'000'000) % 1'000'000};
    setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
    if (connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return system_error(path, "cannot connect");
    return Done{};
}

Result<std::string> receive_record(const Socket& socket, const std::string& path) {
    const ssize_t size = recv(socket.fd(), nullptr, 0, MSG_PEEK | MSG_TRUNC);
    if (size < 0 && errno == EAGAIN) return Error{path + ": no answer in time"};
    if (size < 0) return system_error(path, "no answer");
    if (size == 0) return Error{path + ": the process closed the connection without an answer"};
    if (static_cast<std::size_t>(size) > kReplyBytesMax) return Error{path + ": the answer is too long"};
    std::string record(static_cast<std::size_t>(size), '\0');
    if (recv(socket.fd(), record.data(), record.size(), 0) != size) return system_error(path, "no answer");
    return record;
}

}  // namespace

Result<nlohmann::json> control_call(const std::string& path, const std::string& command, const nlohmann::json& args,
                                    Duration timeout) {
    const Socket socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (socket.fd() < 0) return system_error(path, "socket");
    const Status connected = connect_to(socket, path, timeout);
    if (!connected) return Error{connected.error()};
    const std::string request = nlohmann::json{{"command", command}, {"args", args}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
        return system_error(path, "cannot send");
    const auto record = receive_record(socket, path);
    if (!record) return Error{record.error()};
    const nlohmann::json reply = nlohmann::json::parse(*record, nullptr, false);
    if (!reply.is_object() || !reply.contains("ok")) return Error{path + ": the answer is not a vroce reply"};
    if (reply["ok"] == true) return reply.value("result", nlohmann::json());
    if (!reply.contains("error") || !reply["error"].is_string()) return Error{path + ": refused without a reason"};
    return Error{reply["error"].get<std::string>()};
}

}  // namespace vroce
