// The control connection of one context to the NIC process: one request, one reply, in order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>

#include "provider/abi/vroce_abi.h"

namespace vroce::provider {

/// Descriptors that came with a reply; closes those that nobody took.
class ReceivedFds {
public:
    ReceivedFds() = default;
    ~ReceivedFds() { clear(); }
    ReceivedFds(const ReceivedFds&) = delete;
    ReceivedFds& operator=(const ReceivedFds&) = delete;

    void add(int fd);
    [[nodiscard]] std::size_t count() const { return count_; }
    /// The caller owns it from now on; -1 when there is none or it was taken.
    int take(std::size_t index);
    void clear();

private:
    std::array<int, VROCE_MAX_FDS> fds_{};
    std::size_t count_ = 0;
};

class Session {
public:
    Session() = default;
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// 0 or the errno of connect.
    int connect(const char* path);
    [[nodiscard]] int fd() const { return fd_; }

    /// Sends `request` (its header is filled here) and waits for the reply. The reply's status, EIO when the NIC is
    /// gone, EPROTO when the answer is not one, EMFILE when its descriptors found no room. `reply` keeps what was
    /// received also when status is not 0.
    template <typename Request, typename Reply>
    int call(vroce_message message, Request& request, Reply& reply, ReceivedFds& received,
             std::initializer_list<int> fds = {}) {
        request.header = {static_cast<std::uint32_t>(message), static_cast<std::uint32_t>(sizeof request)};
        return exchange(&request, sizeof request, fds, &reply, sizeof reply, received);
    }
    template <typename Request, typename Reply>
    int call(vroce_message message, Request& request, Reply& reply) {
        ReceivedFds none;
        return call(message, request, reply, none);
    }

    /// Nothing is sent any more and calls answer EIO: the NIC process is gone.
    void mark_dead() { dead_.store(1); }
    [[nodiscard]] bool dead() const { return dead_.load() != 0; }

private:
    void give_up();
    int exchange(const void* request, std::size_t request_bytes, std::initializer_list<int> fds, void* reply,
                 std::size_t reply_bytes, ReceivedFds& received);
    int send_record(const void* bytes, std::size_t size, std::initializer_list<int> fds);
    int receive_record(void* bytes, std::size_t size, std::size_t& got, ReceivedFds& received);

    std::mutex mutex_;
    int fd_ = -1;
    std::atomic<std::uint32_t> dead_{0};
};

}  // namespace vroce::provider
