// A doorbell between two of our processes that share a memif (design D2): memif has no receive interrupt, and timed
// polling of an idle link costs a fifth of a core. Each side has a `sleeping` word in a shared page and an eventfd; who
// puts frames into the ring looks at the other's word and writes to its eventfd only when it sleeps.
//
// The server (the switch) listens beside the memif socket; the client sends its eventfd and gets the page and the
// server's eventfd. The page's address and all descriptor numbers stay the same for a Doorbell's life, whatever process
// is at the other end, so that the worker needs no lock: a new peer is mapped and dup'ed over the old one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/result.hpp"

namespace vroce {

enum class DoorbellRole : std::uint8_t { Server, Client };

class Doorbell {
public:
    static Result<std::unique_ptr<Doorbell>> create(const std::string& path, DoorbellRole role);
    ~Doorbell();
    Doorbell(const Doorbell&) = delete;
    Doorbell& operator=(const Doorbell&) = delete;

    // ---- control thread
    /// Readable when serve() has something to do. A client without a peer has also to be served every 100 ms.
    [[nodiscard]] int fd() const { return epoll_fd_; }
    void serve();

    // ---- worker
    /// A peer of ours is connected: it rings, and may sleep.
    [[nodiscard]] bool connected() const { return connected_.load(std::memory_order_relaxed); }
    [[nodiscard]] int wake_fd() const { return own_event_fd_; }
    /// After set_sleeping(true) the caller polls its rings once more before it sleeps.
    void set_sleeping(bool sleeping);
    /// After frames were put into the ring.
    void ring();

private:
    struct Page;
    Doorbell() = default;
    Status open(const std::string& path, DoorbellRole role);
    void accept_peer();
    void connect_peer();
    bool take_hello(int fd);
    void lose_peer();
    void watch(int fd);
    void wake_worker();
    [[nodiscard]] std::atomic<std::uint32_t>& own_word() const;
    [[nodiscard]] std::atomic<std::uint32_t>& peer_word() const;

    std::string path_;
    DoorbellRole role_ = DoorbellRole::Client;
    Page* page_ = nullptr;
    int page_fd_ = -1;
    int own_event_fd_ = -1;
    int peer_event_fd_ = -1;  ///< always open; without a peer an eventfd that nobody reads
    int listen_fd_ = -1;
    int peer_fd_ = -1;  ///< connection
    int epoll_fd_ = -1;
    std::atomic<bool> connected_{false};
    unsigned unrung_ = 0;  ///< worker: awakenings since it last emptied its eventfd
};

}  // namespace vroce
