// The endpoint's session socket: one connection is one ibv_context of an application.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/base/result.hpp"
#include "nic/host/host_counters.hpp"
#include "nic/host/reactor.hpp"

namespace vroce::nic {

class Session;
struct SessionHost;

/// Control thread only.
class SessionServer {
public:
    static constexpr std::size_t kSessionsMax = 1024;
    /// So that one user cannot lock out the others; root may have them all.
    static constexpr std::size_t kSessionsPerUserMax = 512;

    /// Listens at `path` (mode 0666: every user of the machine may open the device), which appears by rename. A dead
    /// process's socket is replaced; one that answers is an error.
    static Result<std::unique_ptr<SessionServer>> listen(const std::string& path, SessionHost& host);
    /// Ends all sessions.
    ~SessionServer();
    SessionServer(const SessionServer&) = delete;
    SessionServer& operator=(const SessionServer&) = delete;

    [[nodiscard]] const std::map<std::uint32_t, std::unique_ptr<Session>>& sessions() const { return sessions_; }

private:
    SessionServer(const std::string& path, SessionHost& host) : path_(path), host_(host) {}
    Status open_socket();
    void accept_all();
    void accept_one(UniqueFd socket);
    void refuse_for_lack_of_descriptors();
    [[nodiscard]] bool has_room_for(uid_t user) const;
    /// A session that has ended still counts until nothing of it is left: an application cannot have more copies stuck
    /// in its memory than sessions.
    void sweep_soon(std::chrono::milliseconds delay);
    void sweep();

    std::string path_;
    SessionHost& host_;
    UniqueFd socket_;
    UniqueFd spare_;  ///< given up for a moment when descriptors run out, so that a connection can be refused
    Reactor::Token listen_token_ = 0;
    Reactor::Token sweep_timer_ = 0;
    std::uint32_t next_id_ = 1;
    std::map<std::uint32_t, std::unique_ptr<Session>> sessions_;
};

}  // namespace vroce::nic
