#include "provider/src/context.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "provider/src/death.hpp"

namespace vroce::provider {
namespace {

void* map_shared(int fd, std::uint64_t bytes, int protection) {
    void* address = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
    return address == MAP_FAILED ? nullptr : address;
}

/// A write end of the pipe behind `read_fd`; needs the right to open it.
int reopen_for_writing(int read_fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(read_fd);
    return open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

int writing_end(int given, int read_fd) {
    const int fd = given >= 0 ? given : reopen_for_writing(read_fd);
    if (fd >= 0) fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

int explain_connect(const char* device, const char* path, int error) {
    const bool absent = error == ECONNREFUSED || error == ENOENT;
    std::fprintf(stderr, "vroce: %s: %s at %s: %s\n", device,
                 absent ? "the NIC process is not running" : "cannot reach the NIC process", path,
                 std::strerror(error));
    return absent ? ENODEV : error;
}

}  // namespace

Context::~Context() {
    // A child must not join a thread that it does not have.
    if (usable()) {
        watcher.stop();
    } else {
        watcher.forget();
    }
    for (const Arena& arena : arenas_) munmap(arena.base, arena.bytes);
    if (doorbell.page != nullptr) munmap(doorbell.page, doorbell_bytes_);
    if (status_page_ != nullptr) munmap(status_page_, status_bytes_);
    if (doorbell.event_fd >= 0) close(doorbell.event_fd);
}

int Context::open(const char* session_path) {
    epoch_ = ProcessGuard::enter();
    if (epoch_ == 0) return ENOMEM;
    qps_ = std::make_unique<std::atomic<QueuePair*>[]>(VROCE_MAX_QP_SLOTS);
    if (const int error = session.connect(session_path)) return explain_connect(device_name, session_path, error);
    if (const int error = say_hello()) return error;
    vroce_simple_request query{};
    if (const int error = session.call(VROCE_QUERY_DEVICE, query, device)) return error;
    return watcher.start(*this);
}

int Context::say_hello() {
    // The NIC reaches our memory through this descriptor: it is bound to this address space and ends with it.
    const int memory = ::open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (memory < 0) {
        const int error = errno;
        std::fprintf(stderr, "vroce: %s: /proc/self/mem: %s; /proc must be mounted\n", device_name,
                     std::strerror(error));
        return error;
    }
    vroce_hello hello{};
    hello.magic = VROCE_ABI_MAGIC;
    hello.major = VROCE_ABI_MAJOR;
    hello.minor = VROCE_ABI_MINOR;
    hello.pid = static_cast<std::uint32_t>(getpid());
    vroce_hello_reply reply{};
    ReceivedFds fds;
    const int error = session.call(VROCE_HELLO, hello, reply, fds, {memory});
    close(memory);
    if (reply.magic == VROCE_ABI_MAGIC && reply.major != VROCE_ABI_MAJOR) {
        std::fprintf(stderr,
                     "vroce: %s: the plugin speaks ABI %u.%u, the NIC process %u.%u: install the same version\n",
                     device_name, VROCE_ABI_MAJOR, VROCE_ABI_MINOR, unsigned{reply.major}, unsigned{reply.minor});
        return EPROTO;
    }
    if (error == EMFILE) {
        std::fprintf(stderr, "vroce: %s: no descriptor is free for what the NIC hands over; raise ulimit -n\n",
                     device_name);
        return error;
    }
    if (error != 0) {
        std::fprintf(stderr, "vroce: %s: the NIC process refused the session: %s\n", device_name, std::strerror(error));
        return error;
    }
    return take_pages(reply, fds);
}

int Context::take_pages(const vroce_hello_reply& reply, ReceivedFds& fds) {
    if (fds.count() < 4 || reply.status_page_bytes < sizeof(vroce_status_page) ||
        reply.doorbell_page_bytes < sizeof(vroce_doorbell_page) ||
        reply.worker >= std::size(vroce_status_page{}.worker)) {
        std::fprintf(stderr, "vroce: %s: the NIC process sent an incomplete hello\n", device_name);
        return EPROTO;
    }
    const int status_fd = fds.take(0);
    const int doorbell_fd = fds.take(1);
    status_bytes_ = reply.status_page_bytes;
    doorbell_bytes_ = reply.doorbell_page_bytes;
    status_page_ = map_shared(status_fd, status_bytes_, PROT_READ);
    doorbell.page = static_cast<vroce_doorbell_page*>(map_shared(doorbell_fd, doorbell_bytes_, PROT_READ | PROT_WRITE));
    close(status_fd);
    close(doorbell_fd);
    if (status_page_ == nullptr || doorbell.page == nullptr) return ENOMEM;
    doorbell.sleeping = &static_cast<vroce_status_page*>(status_page_)->worker[reply.worker].sleeping;
    doorbell.event_fd = fds.take(2);
    verbs.context.async_fd = fds.take(3);
    const int write_fd = writing_end(fds.take(4), verbs.context.async_fd);
    async_events.open(verbs.context.async_fd, write_fd);
    return write_fd < 0 ? EACCES : 0;
}

const Context::Arena* Context::find_arena(std::uint32_t id) const {
    const auto found = std::find_if(arenas_.begin(), arenas_.end(), [id](const Arena& a) { return a.id == id; });
    return found == arenas_.end() ? nullptr : &*found;
}

std::byte* Context::arena_at(const vroce_ring_place& place, std::uint64_t offset, std::uint64_t bytes, int new_fd) {
    const std::lock_guard guard(mutex_);
    if (new_fd >= 0) {
        void* base = map_shared(new_fd, place.arena_bytes, PROT_READ | PROT_WRITE);
        close(new_fd);
        if (base == nullptr) return nullptr;
        arenas_.push_back({place.arena, static_cast<std::byte*>(base), place.arena_bytes});
    }
    const Arena* arena = find_arena(place.arena);
    if (arena == nullptr || offset > arena->bytes || bytes > arena->bytes - offset) return nullptr;
    return arena->base + offset;
}

void Context::add_qp(QueuePair& qp) {
    qps_[qp.slot].store(&qp, std::memory_order_release);
}

void Context::remove_qp(QueuePair& qp) {
    QueuePair* mine = &qp;  // the NIC may have given the slot to a new QP already
    qps_[qp.slot].compare_exchange_strong(mine, nullptr);
}

void Context::add_cq(CompletionQueue& cq) {
    const std::lock_guard guard(mutex_);
    cqs_.push_back(&cq);
}

void Context::remove_cq(CompletionQueue& cq) {
    const std::lock_guard guard(mutex_);
    cqs_.erase(std::remove(cqs_.begin(), cqs_.end(), &cq), cqs_.end());
}

int Context::create_channel(int& read_fd) {
    if (const int error = control_error()) return error;
    vroce_simple_request request{};
    vroce_create_channel_reply reply{};
    ReceivedFds fds;
    if (const int error = session.call(VROCE_CREATE_CHANNEL, request, reply, fds)) return error;
    if (fds.count() < 2) return EPROTO;
    auto channel = std::make_unique<Channel>();
    read_fd = fds.take(0);
    channel->handle = reply.handle;
    channel->pipe.open(read_fd, writing_end(fds.take(1), read_fd));
    drop_channel(read_fd);  // one whose descriptor the application closed behind libibverbs' back
    const std::lock_guard guard(mutex_);
    channels_.push_back(std::move(channel));
    return 0;
}

Channel* Context::find_channel(int read_fd) {
    const std::lock_guard guard(mutex_);
    for (const auto& channel : channels_) {
        if (channel->pipe.read_fd() == read_fd) return channel.get();
    }
    return nullptr;
}

bool Context::drop_channel(int read_fd) {
    vroce_simple_request request{};
    {
        const std::lock_guard guard(mutex_);
        const auto found = std::find_if(channels_.begin(), channels_.end(),
                                        [read_fd](const auto& c) { return c->pipe.read_fd() == read_fd; });
        if (found == channels_.end()) return false;
        request.handle = (*found)->handle;
        channels_.erase(found);
    }
    vroce_simple_reply reply{};
    if (control_error() == 0) static_cast<void>(session.call(VROCE_DESTROY_CHANNEL, request, reply));
    return true;
}

void Context::on_nic_death() {
    session.mark_dead();
    dead_.store(1, std::memory_order_seq_cst);
    const vroce_async_event fatal{1, IBV_EVENT_DEVICE_FATAL, 0};
    async_events.add(&fatal);
    const std::lock_guard guard(mutex_);
    for (CompletionQueue* cq : cqs_) send_event_if_armed(*cq);
}

bool Context::flush_held_events() {
    const std::lock_guard guard(mutex_);
    bool all_written = async_events.flush_held();
    for (const auto& channel : channels_) all_written = channel->pipe.flush_held() && all_written;
    return all_written;
}

}  // namespace vroce::provider
