#include "common/dpdk/doorbell.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

namespace vroce {

/// One cache line a side.
struct Doorbell::Page {
    alignas(64) std::atomic<std::uint32_t> server_sleeping;
    alignas(64) std::atomic<std::uint32_t> client_sleeping;
};

namespace {

constexpr std::uint64_t kHello = 0x7672'6f63'6562'0001;  // "vroceb", version 1
constexpr std::size_t kPageBytes = 4'096;
/// Awakenings without a ring from one look into the eventfd to the next: rare enough to cost nothing, and soon enough
/// to end what a late write does, a sleep that returns at once, within half a millisecond.
constexpr unsigned kLookEvery = 64;

/// Anything else that a peer may send (a full pipe) could block the worker that writes to it.
bool is_eventfd(int fd) {
    std::array<char, 64> target{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t size = readlink(link.c_str(), target.data(), target.size());
    return size > 0 && std::string_view(target.data(), static_cast<std::size_t>(size)) == "anon_inode:[eventfd]" &&
           fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0;
}

/// A page that its owner could shrink would be a SIGBUS in our worker.
bool is_lasting_page(int fd) {
    struct stat status {};
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &status) == 0 &&
           status.st_size >= static_cast<off_t>(kPageBytes);
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
}

bool send_hello(int fd, std::initializer_list<int> fds) {
    std::uint64_t hello = kHello;
    iovec data{&hello, sizeof hello};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.begin(), fds.size() * sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof hello;
}

/// What came with one record: descriptors (to be closed by the caller), and whether the record is a hello, nothing yet,
/// or the end.
struct Received {
    enum { Nothing, Hello, End } kind = Nothing;
    std::vector<int> fds;
};

Received receive_hello(int fd) {
    std::uint64_t hello = 0;
    iovec data{&hello, sizeof hello};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    Received received;
    const ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) {
        received.kind = errno == EAGAIN || errno == EINTR ? Received::Nothing : Received::End;
        return received;
    }
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        const std::size_t before = received.fds.size();
        received.fds.resize(before + count);
        std::memcpy(received.fds.data() + before, CMSG_DATA(header), count * sizeof(int));
    }
    received.kind = size == sizeof hello && hello == kHello ? Received::Hello : Received::End;
    return received;
}

}  // namespace

Result<std::unique_ptr<Doorbell>> Doorbell::create(const std::string& path, DoorbellRole role) {
    std::unique_ptr<Doorbell> doorbell(new Doorbell);
    const Status status = doorbell->open(path, role);
    if (!status) return Error{status.error()};
    return doorbell;
}

Status Doorbell::open(const std::string& path, DoorbellRole role) {
    const auto failed = [&](const char* what) { return Error{path + ": " + what + ": " + std::strerror(errno)}; };
    if (path.size() >= sizeof(sockaddr_un::sun_path)) return Error{path + ": longer than a socket's path may be"};
    path_ = path;
    role_ = role;
    epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    own_event_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    peer_event_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    page_fd_ = memfd_create("vroce-doorbell", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (page_fd_ < 0 || ftruncate(page_fd_, kPageBytes) != 0) return failed("no shared page");
    fcntl(page_fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void* memory = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd_, 0);
    if (memory == MAP_FAILED) return failed("no shared page");
    page_ = static_cast<Page*>(memory);
    if (role == DoorbellRole::Client) {
        connect_peer();
        return Done{};
    }
    listen_fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    unlink(path.c_str());
    const sockaddr_un address = address_of(path);
    if (bind(listen_fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(listen_fd_, 4) != 0)
        return failed("cannot listen");
    watch(listen_fd_);
    return Done{};
}

Doorbell::~Doorbell() {
    if (page_ != nullptr) munmap(page_, kPageBytes);
    for (const int fd : {page_fd_, own_event_fd_, peer_event_fd_, listen_fd_, peer_fd_, epoll_fd_})
        if (fd >= 0) close(fd);
    if (role_ == DoorbellRole::Server && listen_fd_ >= 0) unlink(path_.c_str());
}

void Doorbell::watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
}

void Doorbell::serve() {
    if (listen_fd_ >= 0) accept_peer();
    if (role_ == DoorbellRole::Client && peer_fd_ < 0) connect_peer();
    if (peer_fd_ >= 0 && !take_hello(peer_fd_)) lose_peer();
}

void Doorbell::accept_peer() {
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (peer_fd_ >= 0) lose_peer();  // the newest client is the living one
    peer_fd_ = fd;
    watch(fd);
}

void Doorbell::connect_peer() {
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(path_);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        !send_hello(fd, {own_event_fd_})) {
        close(fd);
        return;
    }
    peer_fd_ = fd;
    watch(fd);
}

/// False: the peer is gone or is not one of ours.
bool Doorbell::take_hello(int fd) {
    const Received received = receive_hello(fd);
    bool good = received.kind == Received::Nothing;
    if (received.kind == Received::Hello && role_ == DoorbellRole::Server && received.fds.size() == 1) {
        good = is_eventfd(received.fds[0]) && dup3(received.fds[0], peer_event_fd_, O_CLOEXEC) >= 0 &&
               send_hello(fd, {page_fd_, own_event_fd_});
    }
    if (received.kind == Received::Hello && role_ == DoorbellRole::Client && received.fds.size() == 2) {
        good = is_lasting_page(received.fds[0]) && is_eventfd(received.fds[1]) &&
               mmap(page_, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, received.fds[0], 0) == page_ &&
               dup3(received.fds[1], peer_event_fd_, O_CLOEXEC) >= 0;
    }
    if (received.kind == Received::Hello && good) {
        connected_.store(true);
        // A worker that fell asleep meanwhile has said so in a page that nobody reads, and a frame that was sent
        // meanwhile has rung there.
        wake_worker();
        ring();
    }
    for (const int received_fd : received.fds) close(received_fd);
    return good;
}

void Doorbell::lose_peer() {
    connected_.store(false);
    close(peer_fd_);
    peer_fd_ = -1;
    const int nobody = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    dup3(nobody, peer_event_fd_, O_CLOEXEC);
    close(nobody);
    peer_word().store(0);
    wake_worker();  // it may be asleep in trust of a peer that rings, and must look at its link again
}

void Doorbell::wake_worker() {
    own_word().store(0);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(own_event_fd_, &one, sizeof one);
}

std::atomic<std::uint32_t>& Doorbell::own_word() const {
    return role_ == DoorbellRole::Server ? page_->server_sleeping : page_->client_sleeping;
}
std::atomic<std::uint32_t>& Doorbell::peer_word() const {
    return role_ == DoorbellRole::Server ? page_->client_sleeping : page_->server_sleeping;
}

void Doorbell::set_sleeping(bool sleeping) {
    // Dekker: own word, fence, then (the caller) the ring; the peer: ring, fence, then our word. One of us sees the
    // other.
    const bool rung = own_word().exchange(sleeping ? 1 : 0, std::memory_order_seq_cst) == 0;
    if (sleeping) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return;
    }
    // Who rings takes the word back to 0 first: while it is still 1 there is nothing to read, and no call to pay for,
    // unless the ringer's write came after we had looked. Left unread that would end every sleep at once.
    if (!rung && ++unrung_ < kLookEvery) return;
    unrung_ = 0;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t size = read(own_event_fd_, &count, sizeof count);
}

void Doorbell::ring() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (peer_word().load(std::memory_order_relaxed) == 0) return;
    if (peer_word().exchange(0, std::memory_order_seq_cst) == 0) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(peer_event_fd_, &one, sizeof one);
}

}  // namespace vroce
