#include "nic/io/netlink/netlink_socket.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace vroce::nic {

Result<std::unique_ptr<NetlinkSocket>> NetlinkSocket::open(std::uint32_t groups) {
    const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) return Error{std::string("no rtnetlink socket: ") + std::strerror(errno)};
    std::unique_ptr<NetlinkSocket> out(new NetlinkSocket(fd));
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = groups;
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return Error{std::string("rtnetlink socket: ") + std::strerror(errno)};
    }
    // A kernel that does not answer would be its own error; the control thread must not hang on it.
    const timeval limit{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return out;
}

NetlinkSocket::~NetlinkSocket() {
    ::close(fd_);
}

int NetlinkSocket::transact(NetlinkMessage& message, const Visitor& visit) {
    const auto bytes = message.finish(++sequence_);
    if (::send(fd_, bytes.data(), bytes.size(), 0) < 0) return errno;
    int error = 0;
    for (;;) {
        const ssize_t got = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno == EAGAIN ? ETIMEDOUT : errno;
        if (take({buffer_.data(), static_cast<std::size_t>(got)}, sequence_, visit, error) == Outcome::Done)
            return error;
    }
}

bool NetlinkSocket::receive(const Visitor& visit) {
    for (;;) {
        const ssize_t got = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno != ENOBUFS;
        int ignored = 0;
        static_cast<void>(take({buffer_.data(), static_cast<std::size_t>(got)}, 0, visit, ignored));
    }
}

/// One datagram: some messages. Those of an earlier request that was given up are passed over.
NetlinkSocket::Outcome NetlinkSocket::take(std::span<const std::uint8_t> bytes, std::uint32_t sequence,
                                           const Visitor& visit, int& error) const {
    bool multipart = false;
    bool seen = false;
    while (bytes.size() >= sizeof(nlmsghdr)) {
        nlmsghdr header{};
        std::memcpy(&header, bytes.data(), sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size()) break;
        const auto message = bytes.first(header.nlmsg_len);
        bytes = bytes.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), bytes.size()));
        if (sequence != 0 && header.nlmsg_seq != sequence) continue;
        if (header.nlmsg_type == NLMSG_DONE) return Outcome::Done;
        if (header.nlmsg_type == NLMSG_ERROR) {
            nlmsgerr answer{};
            std::memcpy(&answer, message.data() + NLMSG_HDRLEN, std::min(sizeof answer, message.size() - NLMSG_HDRLEN));
            error = -answer.error;
            return Outcome::Done;
        }
        seen = true;
        multipart = (header.nlmsg_flags & NLM_F_MULTI) != 0;
        if (visit) visit(NetlinkReply(message));
    }
    return seen && !multipart ? Outcome::Done : Outcome::More;
}

}  // namespace vroce::nic
