#include "nic/host/record_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vroce::nic {
namespace {

/// Linux's SCM_MAX_FD: with room for all of them none is lost silently, and the surplus is ours to close.
constexpr std::size_t kKernelFdsMax = 253;

union ControlBuffer {
    cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * kKernelFdsMax)];
};

void take_fds(msghdr& message, ReceivedRecord& record) {
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (record.fd_count < record.fds.size()) {
                record.fds[record.fd_count++] = UniqueFd(fd);
            } else {
                close(fd);
                record.fds_lost = true;
            }
        }
    }
}

}  // namespace

void UniqueFd::reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

ReceiveResult receive_record(int socket, ReceivedRecord& record) {
    for (UniqueFd& fd : record.fds) fd.reset();
    record.fd_count = 0;
    record.fds_lost = false;
    ControlBuffer control;
    iovec part{record.bytes.data(), record.bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    ssize_t count = 0;
    do {
        count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return errno == EAGAIN ? ReceiveResult::Nothing : ReceiveResult::Closed;
    take_fds(message, record);
    if ((message.msg_flags & MSG_CTRUNC) != 0) record.fds_lost = true;
    record.size = static_cast<std::size_t>(count);
    // A SEQPACKET socket reports its end as a record of no bytes, and an empty record is no request either.
    return count == 0 ? ReceiveResult::Closed : ReceiveResult::Record;
}

bool send_record(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
    ControlBuffer control{};
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
        std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
    }
    ssize_t count = 0;
    do {
        count = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    return count == static_cast<ssize_t>(bytes.size());
}

}  // namespace vroce::nic
