// A conversation with the kernel's routing tables. The socket stays in the namespace in which it was opened.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/base/result.hpp"
#include "nic/io/netlink/netlink_message.hpp"

namespace vroce::nic {

class NetlinkSocket {
public:
    using Visitor = std::function<void(const NetlinkReply&)>;

    /// `groups` (RTMGRP_…): notifications to receive.
    static Result<std::unique_ptr<NetlinkSocket>> open(std::uint32_t groups);
    ~NetlinkSocket();
    NetlinkSocket(const NetlinkSocket&) = delete;
    NetlinkSocket& operator=(const NetlinkSocket&) = delete;

    /// Sends a request and visits what is answered (also dumps). The kernel answers before send returns, so this does
    /// not wait. Returns 0 or a positive errno.
    int transact(NetlinkMessage& message, const Visitor& visit = {});
    /// Visits notifications that have come, without waiting. False when some were lost (ENOBUFS).
    bool receive(const Visitor& visit);
    [[nodiscard]] int fd() const { return fd_; }

private:
    enum class Outcome : std::uint8_t { More, Done };
    explicit NetlinkSocket(int fd) : fd_(fd), buffer_(kBufferBytes) {}
    Outcome take(std::span<const std::uint8_t> bytes, std::uint32_t sequence, const Visitor& visit, int& error) const;

    static constexpr std::size_t kBufferBytes = 64 * 1024;
    int fd_;
    std::uint32_t sequence_ = 0;
    std::vector<std::uint8_t> buffer_;
};

}  // namespace vroce::nic
