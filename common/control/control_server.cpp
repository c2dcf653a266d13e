#include "common/control/control_server.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/control/control_client.hpp"

namespace vroce {

namespace {

constexpr int kDepthMax = 32;
constexpr int kRequestsPerTurn = 16;
/// Replies such as all counters of many ports are larger than the default send buffer.
constexpr int kSendBufferBytes = 4 << 20;

Result<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() + 5 >= sizeof address.sun_path)
        return Error{path + ": longer than a socket's path may be (102 bytes)"};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
}

/// True when somebody accepts connections there.
bool is_alive(const std::string& path) {
    const auto address = address_of(path);
    if (!address) return false;
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    // EAGAIN: it lives, and so many wait for it that no more are let in.
    const bool alive =
        connect(fd, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0 || errno == EAGAIN;
    close(fd);
    return alive;
}

/// Nesting beyond what any request of ours has is refused before the parser recurses.
bool too_deep(const std::string& text) {
    int depth = 0;
    for (const char c : text) {
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        if (depth > kDepthMax) return true;
    }
    return false;
}

nlohmann::json refusal(const std::string& error) {
    return {{"ok", false}, {"error", error}};
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::listen(const std::string& path) {
    if (is_alive(path)) return Error{path + ": another process of this name is running"};
    const std::string temporary = path + ".new";
    const auto address = address_of(temporary);
    if (!address) return Error{address.error()};
    std::unique_ptr<ControlServer> server(new ControlServer);
    server->buffer_.resize(kRequestBytesMax + 1);
    server->listen_fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    server->epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    unlink(temporary.c_str());
    if (bind(server->listen_fd_, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
        chmod(temporary.c_str(), 0600) != 0 || ::listen(server->listen_fd_, 16) != 0 ||
        rename(temporary.c_str(), path.c_str()) != 0) {
        const Error error{path + ": cannot listen: " + std::strerror(errno)};
        unlink(temporary.c_str());
        return error;
    }
    server->path_ = path;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = server->listen_fd_;
    epoll_ctl(server->epoll_fd_, EPOLL_CTL_ADD, server->listen_fd_, &event);
    return server;
}

ControlServer::~ControlServer() {
    for (const int fd : clients_) close(fd);
    if (listen_fd_ >= 0) close(listen_fd_);
    if (epoll_fd_ >= 0) close(epoll_fd_);
    if (!path_.empty()) unlink(path_.c_str());
}

void ControlServer::serve() {
    std::array<epoll_event, 16> events{};
    const int ready = epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < ready; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == listen_fd_) {
            accept_clients();
        } else if (std::find(clients_.begin(), clients_.end(), fd) != clients_.end() && !serve_client(fd)) {
            drop(fd);
        }
    }
}

void ControlServer::accept_clients() {
    for (int i = 0; i < kRequestsPerTurn; ++i) {
        const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        // Who has said nothing for longest makes room: idle connections must not lock the others out.
        if (clients_.size() >= kClientsMax) drop(clients_.front());
        setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &kSendBufferBytes, sizeof kSendBufferBytes);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
        clients_.push_back(fd);
    }
}

bool ControlServer::serve_client(int fd) {
    // To the end of the line: the front is who has been silent longest.
    const auto place = std::find(clients_.begin(), clients_.end(), fd);
    std::rotate(place, std::next(place), clients_.end());
    for (int i = 0; i < kRequestsPerTurn; ++i) {
        const ssize_t size = recv(fd, buffer_.data(), buffer_.size(), MSG_TRUNC);
        if (size < 0) return errno == EAGAIN || errno == EINTR;
        if (size == 0) return false;
        const bool oversized = static_cast<std::size_t>(size) > kRequestBytesMax;
        const nlohmann::json reply = oversized ? refusal("a request has at most 65536 bytes")
                                               : answer(std::string(buffer_.data(), static_cast<std::size_t>(size)));
        if (!send_reply(fd, reply)) return false;
    }
    return true;
}

/// False: the client does not read its answers; it is dropped rather than waited for.
bool ControlServer::send_reply(int fd, const nlohmann::json& reply) {
    const auto sent = [fd](const nlohmann::json& value) {
        const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        return send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
    };
    if (sent(reply)) return true;
    return errno == EMSGSIZE && sent(refusal("the answer is longer than this system lets a socket carry"));
}

nlohmann::json ControlServer::answer(const std::string& request) const {
    if (too_deep(request)) return refusal("the request is nested too deep");
    const nlohmann::json parsed = nlohmann::json::parse(request, nullptr, false);
    if (!parsed.is_object() || !parsed.contains("command") || !parsed["command"].is_string())
        return refusal("a request is an object with a string 'command'");
    const std::string command = parsed["command"];
    const auto handler = handlers_.find(command);
    if (handler == handlers_.end()) {
        std::string known;
        for (const auto& [name, unused] : handlers_) known += (known.empty() ? "" : ", ") + name;
        return refusal("unknown command '" + command.substr(0, 64) + "'; allowed: " + known);
    }
    try {
        const auto result = handler->second(parsed.value("args", nlohmann::json::object()));
        if (!result) return refusal(result.error());
        return {{"ok", true}, {"result", *result}};
    } catch (const std::exception& problem) {  // mostly an argument of another type than the handler took it for
        return refusal(command + ": " + problem.what());
    }
}

void ControlServer::drop(int fd) {
    clients_.erase(std::remove(clients_.begin(), clients_.end(), fd), clients_.end());
    close(fd);
}

}  // namespace vroce
