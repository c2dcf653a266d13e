// A client that speaks provider/abi by itself, without libibverbs: it can say everything, also what no plugin would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "provider/abi/vroce_abi.h"

namespace vroce::test {

/// Closes what nobody took.
class Fds {
public:
    Fds() = default;
    Fds(Fds&& other) noexcept : fds_(std::move(other.fds_)) { other.fds_.clear(); }
    Fds& operator=(Fds&& other) noexcept {
        std::swap(fds_, other.fds_);
        return *this;
    }
    ~Fds();
    void add(int fd) { fds_.push_back(fd); }
    [[nodiscard]] std::size_t count() const { return fds_.size(); }
    int take(std::size_t index);

private:
    std::vector<int> fds_;
};

struct Reply {
    bool closed = false;  ///< the NIC ended the connection
    std::vector<std::byte> bytes;
    Fds fds;

    [[nodiscard]] vroce_reply_header header() const;
    template <typename T>
    [[nodiscard]] T as() const {
        T value{};
        if (bytes.size() == sizeof value) __builtin_memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
};

/// A mapped memfd.
struct Mapping {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
};

struct ClientCq {
    vroce_create_cq_reply reply{};
    vroce_cq_control* control = nullptr;
    vroce_cqe* ring = nullptr;
    std::uint32_t consumer = 0;
};

struct ClientQp {
    vroce_create_qp_reply reply{};
    vroce_qp_control* control = nullptr;
    std::byte* sq = nullptr;
    std::byte* rq = nullptr;
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
};

struct ClientChannel {
    std::uint32_t handle = UINT32_MAX;
    int read_fd = -1;
    int write_fd = -1;
};

class RawClient {
public:
    /// Connects; false when it cannot.
    bool connect(const std::string& path);
    ~RawClient();
    RawClient() = default;
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    [[nodiscard]] int fd() const { return fd_; }
    void close_socket();

    // ---- any bytes
    bool send_raw(std::span<const std::byte> bytes, std::span<const int> fds = {}) const;
    [[nodiscard]] Reply receive() const;

    /// Fills the header, sends, receives.
    template <typename Request>
    Reply call(vroce_message message, Request request, std::span<const int> fds = {}) const {
        request.header = {static_cast<std::uint32_t>(message), sizeof request};
        send_raw(std::as_bytes(std::span(&request, 1)), fds);
        return receive();
    }
    Reply simple(vroce_message message, std::uint32_t handle = 0) const;

    // ---- as the plugin does; each is 0 or the errno that the NIC answered
    int hello();
    int alloc_pd(std::uint32_t& pd) const;
    int reg_mr(std::uint32_t pd, void* addr, std::size_t length, std::uint32_t access, vroce_reg_mr_reply& reply,
               int fd = -1) const;
    int create_channel(ClientChannel& channel) const;
    int create_cq(std::uint32_t cqe, std::uint32_t channel, std::uint64_t user_handle, ClientCq& cq);
    int create_qp(std::uint32_t pd, const ClientCq& cq, std::uint64_t user_handle, ClientQp& qp,
                  std::uint32_t depth = 16);
    int modify_qp(const ClientQp& qp, std::uint32_t mask, const vroce_qp_attr& attr) const;
    /// RESET to RTS, to the peer at `gid`.
    int connect_qp(const ClientQp& qp, std::uint32_t peer_qpn, const std::uint8_t (&gid)[16],
                   std::uint32_t access = 7) const;

    // ---- data path
    void post_recv(ClientQp& qp, std::uint64_t wr_id, void* addr, std::uint32_t length, std::uint32_t lkey);
    void post_send(ClientQp& qp, const vroce_send_wqe& wqe, void* addr, std::uint32_t length, std::uint32_t lkey);
    void ring(std::uint32_t slot) const;
    static std::optional<vroce_cqe> poll(ClientCq& cq);
    static void arm(ClientCq& cq, std::uint32_t how);

    [[nodiscard]] const vroce_hello_reply& hello_reply() const { return hello_reply_; }
    [[nodiscard]] int async_fd() const { return async_fd_; }
    [[nodiscard]] int event_fd() const { return event_fd_; }
    [[nodiscard]] int async_write_fd() const { return async_write_fd_; }
    [[nodiscard]] const Mapping& status_page() const { return status_; }

private:
    std::byte* arena_at(const vroce_ring_place& place, std::uint64_t offset, Reply& reply);

    int fd_ = -1;
    int event_fd_ = -1;
    int async_fd_ = -1;
    int async_write_fd_ = -1;
    vroce_hello_reply hello_reply_{};
    Mapping status_;
    Mapping doorbell_;
    std::map<std::uint32_t, Mapping> arenas_;
};

}  // namespace vroce::test
