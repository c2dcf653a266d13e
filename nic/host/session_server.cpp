#include "nic/host/session_server.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "nic/host/session.hpp"
#include "nic/host/session_host.hpp"

namespace vroce::nic {
namespace {

constexpr int kBacklog = 128;
constexpr int kAcceptsPerRound = 32;
constexpr std::chrono::milliseconds kAtOnce{0};
constexpr std::chrono::milliseconds kStuckRetry{100};

Error socket_error(const std::string& path) {
    return {path + ": " + std::strerror(errno)};
}

Result<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return Error{path + ": the path of a socket has at most " + std::to_string(sizeof address.sun_path - 1) +
                     " characters"};
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

bool somebody_answers(const sockaddr_un& address) {
    const UniqueFd probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
}

UniqueFd spare_descriptor() {
    return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

Result<std::unique_ptr<SessionServer>> SessionServer::listen(const std::string& path, SessionHost& host) {
    std::unique_ptr<SessionServer> server(new SessionServer(path, host));
    if (const Status status = server->open_socket(); !status) return Error{status.error()};
    return server;
}

SessionServer::~SessionServer() {
    host_.reactor.remove(listen_token_);
    for (auto& [id, session] : sessions_) session->abandon();
    host_.reactor.cancel(sweep_timer_);
    sessions_.clear();
    if (socket_) unlink(path_.c_str());
}

Status SessionServer::open_socket() {
    const std::string beside = path_ + ".new";
    const Result<sockaddr_un> address = address_of(path_);
    if (!address) return Error{address.error()};
    const Result<sockaddr_un> beside_address = address_of(beside);
    if (!beside_address) return Error{beside_address.error()};
    if (somebody_answers(*address)) return Error{path_ + ": another process serves this endpoint"};
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return socket_error(path_);
    unlink(beside.c_str());
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&*beside_address), sizeof(sockaddr_un)) != 0 ||
        chmod(beside.c_str(), 0666) != 0 || ::listen(socket.get(), kBacklog) != 0 ||
        rename(beside.c_str(), path_.c_str()) != 0) {
        return socket_error(path_);
    }
    socket_ = std::move(socket);
    spare_ = spare_descriptor();
    listen_token_ = host_.reactor.add(socket_.get(), EPOLLIN, [this](std::uint32_t) { accept_all(); });
    if (listen_token_ == 0) return socket_error(path_);
    return Done{};
}

void SessionServer::accept_all() {
    for (int i = 0; i < kAcceptsPerRound; ++i) {
        UniqueFd socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket) {
            accept_one(std::move(socket));
        } else if (errno == EMFILE || errno == ENFILE) {
            refuse_for_lack_of_descriptors();
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

// The listening socket would stay readable for ever if what waits at it could not be taken.
void SessionServer::refuse_for_lack_of_descriptors() {
    host_.counters.add(HostCounter::RefusedNoDescriptors);
    spare_.reset();
    UniqueFd(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
    spare_ = spare_descriptor();
}

void SessionServer::accept_one(UniqueFd socket) {
    std::optional<Peer> peer = identify_peer(socket.get());
    if (!peer) return;  // dead already
    if (!has_room_for(peer->uid)) {
        host_.counters.add(HostCounter::RefusedTooManySessions);
        return;
    }
    const std::uint32_t id = next_id_++;
    auto session =
        std::make_unique<Session>(host_, id, std::move(*peer), std::move(socket), [this] { sweep_soon(kAtOnce); });
    if (!session->start()) return;
    host_.counters.add(HostCounter::SessionsOpened);
    sessions_.emplace(id, std::move(session));
}

bool SessionServer::has_room_for(uid_t user) const {
    if (sessions_.size() >= kSessionsMax) return false;
    if (user == 0) return true;
    const auto count = std::count_if(sessions_.begin(), sessions_.end(),
                                     [user](const auto& s) { return s.second->peer().uid == user; });
    return static_cast<std::size_t>(count) < kSessionsPerUserMax;
}

// Not at once: the session's own code is still running.
void SessionServer::sweep_soon(std::chrono::milliseconds delay) {
    if (sweep_timer_ == 0) sweep_timer_ = host_.reactor.after(delay, [this] { sweep(); });
}

void SessionServer::sweep() {
    sweep_timer_ = 0;
    std::erase_if(sessions_, [](const auto& s) { return s.second->gone(); });
    const bool some_stuck =
        std::any_of(sessions_.begin(), sessions_.end(), [](const auto& s) { return s.second->ended(); });
    if (some_stuck) sweep_soon(kStuckRetry);
    host_.on_change();
}

}  // namespace vroce::nic
