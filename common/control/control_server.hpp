// The socket by which a process is asked and told (design D9): AF_UNIX SOCK_SEQPACKET, one JSON object a request, one a
// reply. {"command": "fault.set", "args": {...}} -> {"ok": true, "result": ...} or {"ok": false, "error": "one line"}.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace vroce {

/// Driven by one control thread; nothing here blocks, whatever a client sends or does not read.
class ControlServer {
public:
    using Handler = std::function<Result<nlohmann::json>(const nlohmann::json& args)>;
    static constexpr std::size_t kRequestBytesMax = 64 * 1024;
    static constexpr std::size_t kClientsMax = 64;

    /// Listens at `path` (mode 0600), which appears by rename. A stale socket is replaced; one that a live process
    /// answers is an error that says so.
    static Result<std::unique_ptr<ControlServer>> listen(const std::string& path);
    ~ControlServer();
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;

    void handle(const std::string& command, Handler handler) { handlers_[command] = std::move(handler); }
    /// An epoll descriptor that is readable when serve() has something to do.
    [[nodiscard]] int fd() const { return epoll_fd_; }
    void serve();

private:
    ControlServer() = default;
    void accept_clients();
    /// False: the client is gone or unusable.
    bool serve_client(int fd);
    static bool send_reply(int fd, const nlohmann::json& reply);
    [[nodiscard]] nlohmann::json answer(const std::string& request) const;
    void drop(int fd);

    std::string path_;
    int listen_fd_ = -1;
    int epoll_fd_ = -1;
    std::vector<int> clients_;  ///< who asked last is last
    std::vector<char> buffer_;
    std::map<std::string, Handler> handlers_;
};

}  // namespace vroce
