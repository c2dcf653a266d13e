#include "provider/src/session.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

namespace vroce::provider {

void ReceivedFds::add(int fd) {
    if (count_ == fds_.size()) {
        close(fd);
    } else {
        fds_[count_++] = fd;
    }
}

int ReceivedFds::take(std::size_t index) {
    if (index >= count_) return -1;
    const int fd = fds_[index];
    fds_[index] = -1;
    return fd;
}

void ReceivedFds::clear() {
    for (std::size_t i = 0; i < count_; ++i) {
        if (fds_[i] >= 0) close(fds_[i]);
    }
    count_ = 0;
}

Session::~Session() {
    if (fd_ >= 0) close(fd_);
}

int Session::connect(const char* path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t length = std::strlen(path);
    if (length >= sizeof address.sun_path) return ENAMETOOLONG;
    std::memcpy(address.sun_path, path, length);
    fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd_ < 0) return errno;
    int rc = 0;
    do {
        rc = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } while (rc != 0 && errno == EINTR);
    if (rc == 0) return 0;
    const int error = errno;
    close(fd_);
    fd_ = -1;
    return error;
}

namespace {

/// Room for the descriptors of one record, aligned as the kernel wants it.
union FdBuffer {
    cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * VROCE_MAX_FDS)];
};

void take_fds(msghdr& message, ReceivedFds& received) {
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            received.add(fd);
        }
    }
}

}  // namespace

int Session::send_record(const void* bytes, std::size_t size, std::initializer_list<int> fds) {
    iovec part{const_cast<void*>(bytes), size};
    FdBuffer buffer{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fds.size() > 0) {
        message.msg_control = buffer.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
        cmsghdr* control = CMSG_FIRSTHDR(&message);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
        std::memcpy(CMSG_DATA(control), fds.begin(), sizeof(int) * fds.size());
    }
    ssize_t sent = 0;
    do {
        sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

int Session::receive_record(void* bytes, std::size_t size, std::size_t& got, ReceivedFds& received) {
    iovec part{bytes, size};
    FdBuffer buffer{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = buffer.bytes;
    message.msg_controllen = sizeof buffer.bytes;
    ssize_t count = 0;
    do {
        count = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
    } while (count < 0 && errno == EINTR);
    if (count <= 0) return EPIPE;
    take_fds(message, received);
    got = static_cast<std::size_t>(count);
    return (message.msg_flags & MSG_CTRUNC) != 0 ? EMFILE : 0;
}

// A connection that lost one record is of no more use. The watcher waits for its end.
void Session::give_up() {
    mark_dead();
    shutdown(fd_, SHUT_RDWR);
}

int Session::exchange(const void* request, std::size_t request_bytes, std::initializer_list<int> fds, void* reply,
                      std::size_t reply_bytes, ReceivedFds& received) {
    const std::lock_guard guard(mutex_);
    if (dead()) return EIO;
    std::size_t got = 0;
    std::memset(reply, 0, reply_bytes);
    int error = send_record(request, request_bytes, fds);
    if (error == 0) error = receive_record(reply, reply_bytes, got, received);
    if (error == EMFILE) return error;  // the record is whole, only its descriptors are not: the connection goes on
    if (error != 0) {
        give_up();
        return EIO;
    }
    vroce_reply_header header{};
    std::memcpy(&header, reply, std::min(got, sizeof header));
    vroce_request_header asked{};
    std::memcpy(&asked, request, sizeof asked);
    if (got < sizeof header || header.message != asked.message) {
        give_up();
        return EPROTO;
    }
    if (header.status != 0) return header.status > 0 ? header.status : EPROTO;
    return got == reply_bytes ? 0 : EPROTO;
}

}  // namespace vroce::provider
