#include "tests/unit/provider/fake_nic.hpp"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace vroce::provider::test {
namespace {

constexpr std::size_t kControlBytes = 4096;
constexpr std::uint32_t kMaxSge = 16;
constexpr std::uint32_t kMaxInline = 256;

void close_if_open(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
}

template <typename T>
T copy_of(const std::byte* record, std::size_t bytes) {
    T value{};
    std::memcpy(&value, record, std::min(bytes, sizeof value));
    return value;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t size) : bytes(size), fd(memfd_create("fake-nic", MFD_CLOEXEC)) {
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) throw std::runtime_error("memfd");
    base = static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
}

SharedMemory::~SharedMemory() {
    munmap(base, bytes);
    close(fd);
}

FakeNic::FakeNic() {
    char directory[] = "/tmp/vroce-fake-nic-XXXXXX";
    path_ = std::string(mkdtemp(directory)) + "/session.sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 8) != 0) {
        throw std::runtime_error("bind " + path_);
    }
    doorbell_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    thread_ = std::thread([this] { serve(); });
}

FakeNic::~FakeNic() {
    die();
    close_if_open(doorbell_fd_);
    unlink(path_.c_str());
    rmdir(path_.substr(0, path_.rfind('/')).c_str());
}

void FakeNic::die() {
    if (!thread_.joinable()) return;
    shutdown(listener_, SHUT_RDWR);
    if (connection_ >= 0) shutdown(connection_, SHUT_RDWR);
    thread_.join();
    close_if_open(listener_);
    close_if_open(connection_);
    close_if_open(memory_fd_);
    close_if_open(async_pipe_[0]);
    close_if_open(async_pipe_[1]);
    for (auto& [handle, fd] : channels_) close_if_open(fd);
}

void FakeNic::serve() {
    connection_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    while (connection_ >= 0) {
        std::byte record[VROCE_CONTROL_BYTES_MAX];
        iovec part{record, sizeof record};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t got = recvmsg(connection_, &message, MSG_CMSG_CLOEXEC);
        if (got <= 0) return;
        int fd = -1;
        if (cmsghdr* c = CMSG_FIRSTHDR(&message)) std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
        if (!answer(record, static_cast<std::size_t>(got), fd)) return;
    }
}

template <typename Reply>
bool FakeNic::reply_with(Reply& reply, std::uint32_t message, std::int32_t status, const std::vector<int>& fds) {
    reply.header = {message, sizeof reply, status, 0};
    iovec part{&reply, sizeof reply};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * VROCE_MAX_FDS)] = {};
    msghdr record{};
    record.msg_iov = &part;
    record.msg_iovlen = 1;
    if (!fds.empty()) {
        record.msg_control = control;
        record.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
        cmsghdr* c = CMSG_FIRSTHDR(&record);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
        std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
    }
    return sendmsg(connection_, &record, MSG_NOSIGNAL) > 0;
}

bool FakeNic::answer(const std::byte* record, std::size_t bytes, int fd) {
    const auto header = copy_of<vroce_request_header>(record, bytes);
    const std::lock_guard guard(mutex_);
    ++counts_[header.message];
    if (const auto refused = refuse.find(header.message); refused != refuse.end()) {
        vroce_simple_reply reply{};
        return reply_with(reply, header.message, refused->second);
    }
    switch (header.message) {
        case VROCE_HELLO:
            return hello(fd);
        case VROCE_QUERY_DEVICE:
            return query_device();
        case VROCE_QUERY_PORT:
            return query_port();
        case VROCE_REG_MR:
            return reg_mr(copy_of<vroce_reg_mr>(record, bytes), fd);
        case VROCE_CREATE_CHANNEL:
            return create_channel();
        case VROCE_CREATE_CQ:
            return create_cq(copy_of<vroce_create_cq>(record, bytes));
        case VROCE_CREATE_QP:
            return create_qp(copy_of<vroce_create_qp>(record, bytes));
        case VROCE_MODIFY_QP:
            return modify_qp(copy_of<vroce_modify_qp>(record, bytes));
        default:
            return simple(copy_of<vroce_simple_request>(record, bytes));
    }
}

bool FakeNic::hello(int fd) {
    close_if_open(memory_fd_);
    memory_fd_ = fd;
    if (pipe2(async_pipe_, O_CLOEXEC) != 0) return false;
    fcntl(async_pipe_[1], F_SETFL, O_NONBLOCK);
    vroce_hello_reply reply{};
    reply.magic = VROCE_ABI_MAGIC;
    reply.major = major;
    reply.workers = 1;
    reply.worker = 0;
    reply.status_page_bytes = status_page_.bytes;
    reply.doorbell_page_bytes = doorbell_page_.bytes;
    if (major != VROCE_ABI_MAJOR) return reply_with(reply, VROCE_HELLO, EPROTO);
    return reply_with(reply, VROCE_HELLO, 0,
                      {status_page_.fd, doorbell_page_.fd, doorbell_fd_, async_pipe_[0], async_pipe_[1]});
}

bool FakeNic::query_device() {
    vroce_device_attr reply{};
    reply.max_mr_bytes = std::uint64_t{1} << 40;
    reply.vendor_id = 0x1234;
    reply.max_qp = 64;
    reply.max_qp_wr = 16384;
    reply.max_sge = kMaxSge;
    reply.max_cq = 64;
    reply.max_cqe = 65536;
    reply.max_mr = 1024;
    reply.max_pd = 64;
    reply.max_inline = kMaxInline;
    reply.phys_port_cnt = 1;
    reply.num_comp_vectors = 2;
    std::strcpy(reply.fw_ver, "0.1");
    return reply_with(reply, VROCE_QUERY_DEVICE, 0);
}

bool FakeNic::query_port() {
    vroce_port_attr reply{};
    reply.state = IBV_PORT_ACTIVE;
    reply.max_mtu = reply.active_mtu = IBV_MTU_4096;
    reply.gid_tbl_len = 1;
    reply.pkey_tbl_len = 1;
    reply.max_msg_bytes = 1u << 30;
    return reply_with(reply, VROCE_QUERY_PORT, 0);
}

bool FakeNic::reg_mr(const vroce_reg_mr& request, int fd) {
    last_mr = request;
    last_mr_had_fd = fd >= 0;
    if (fd >= 0) close(fd);
    vroce_reg_mr_reply reply{};
    reply.handle = next_handle_++;
    reply.lkey = reply.rkey = 0x100 + reply.handle;
    reply.mapped = last_mr_had_fd ? 1 : 0;
    return reply_with(reply, VROCE_REG_MR, 0);
}

bool FakeNic::create_channel() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    // A real NIC is another process: its descriptors take no number from the application.
    for (int& end : ends) close(std::exchange(end, fcntl(end, F_DUPFD_CLOEXEC, 500)));
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    vroce_create_channel_reply reply{};
    reply.handle = next_handle_++;
    channels_[reply.handle] = ends[1];
    const bool sent = reply_with(reply, VROCE_CREATE_CHANNEL, 0, {ends[0], ends[1]});
    close(ends[0]);
    return sent;
}

bool FakeNic::create_cq(const vroce_create_cq& request) {
    auto cq = std::make_unique<FakeCq>();
    cq->request = request;
    cq->slots = std::bit_ceil(request.cqe);
    cq->memory = std::make_unique<SharedMemory>(kControlBytes + cq->slots * sizeof(vroce_cqe));
    vroce_create_cq_reply reply{};
    reply.handle = next_handle_++;
    reply.ring = {reply.handle, cq->slots, sizeof(vroce_cqe), 0, kControlBytes, cq->memory->bytes};
    const int fd = cq->memory->fd;
    cqs_[reply.handle] = std::move(cq);
    return reply_with(reply, VROCE_CREATE_CQ, 0, {fd});
}

bool FakeNic::create_qp(const vroce_create_qp& request) {
    auto qp = std::make_unique<FakeQp>();
    qp->request = request;
    vroce_create_qp_reply& reply = qp->reply;
    reply.handle = next_handle_++;
    reply.qpn = 0x100 + reply.handle;
    reply.slot = next_slot_++;
    reply.max_send_wr = std::max(request.max_send_wr, 1u);
    reply.max_recv_wr = request.max_recv_wr;
    reply.max_send_sge = std::max(request.max_send_sge, 1u);
    reply.max_recv_sge = std::max(request.max_recv_sge, 1u);
    reply.max_inline = request.max_inline;
    const std::uint32_t body = std::max<std::uint32_t>(reply.max_send_sge * 16, (request.max_inline + 15) / 16 * 16);
    reply.sq = {reply.handle, std::bit_ceil(reply.max_send_wr), 64 + body, 0, kControlBytes, 0};
    reply.rq = {reply.handle,
                reply.max_recv_wr == 0 ? 0 : std::bit_ceil(reply.max_recv_wr),
                16 + reply.max_recv_sge * 16,
                0,
                0,
                0};
    reply.rq.offset = reply.sq.offset + std::uint64_t{reply.sq.slots} * reply.sq.stride;
    reply.sq.arena_bytes = reply.rq.arena_bytes = reply.rq.offset + std::uint64_t{reply.rq.slots} * reply.rq.stride;
    qp->memory = std::make_unique<SharedMemory>(reply.sq.arena_bytes);
    FakeQp& kept = *qp;
    qps_[reply.handle] = std::move(qp);
    return reply_with(kept.reply, VROCE_CREATE_QP, 0, {kept.memory->fd});
}

bool FakeNic::modify_qp(const vroce_modify_qp& request) {
    FakeQp& qp = *qps_.at(request.handle);
    qp.attr = request.attr;
    vroce_query_qp_reply reply{};
    reply.attr = qp.attr;
    return reply_with(reply, VROCE_MODIFY_QP, 0);
}

bool FakeNic::simple(const vroce_simple_request& request) {
    const std::uint32_t message = request.header.message;
    vroce_simple_reply reply{};
    if (message == VROCE_ALLOC_PD) reply.handle = next_handle_++;
    if (message == VROCE_QUERY_QP) {
        vroce_query_qp_reply answer{};
        answer.attr = qps_.at(request.handle)->attr;
        return reply_with(answer, message, 0);
    }
    if (message == VROCE_DESTROY_CQ) {
        reply.comp_events = cqs_.at(request.handle)->comp_events;
        reply.async_events = cqs_.at(request.handle)->async_events;
    }
    if (message == VROCE_DESTROY_QP) reply.async_events = qps_.at(request.handle)->async_events;
    return reply_with(reply, message, 0);
}

void FakeNic::complete(FakeCq& cq, const vroce_cqe& cqe) {
    vroce_cqe& slot = cq.ring()[cq.producer & (cq.slots - 1)];
    const std::uint32_t phase = cq.producer / cq.slots + 1;
    std::memcpy(&slot, &cqe, offsetof(vroce_cqe, phase));
    std::atomic_ref<std::uint32_t>(slot.phase).store(phase, std::memory_order_release);
    ++cq.producer;
}

void FakeNic::complete_send(FakeQp& qp, std::uint32_t index, std::uint8_t status) {
    vroce_cqe cqe{};
    cqe.wr_id = qp.send_wqe(index)->wr_id;
    cqe.qpn = qp.reply.qpn;
    cqe.qp_slot = qp.reply.slot;
    cqe.wqe_index = index;
    cqe.status = status;
    complete(cq(qp.request.send_cq), cqe);
}

void FakeNic::complete_recv(FakeQp& qp, std::uint32_t index, std::uint8_t status) {
    vroce_cqe cqe{};
    cqe.wr_id = qp.recv_wqe(index)->wr_id;
    cqe.qpn = qp.reply.qpn;
    cqe.qp_slot = qp.reply.slot;
    cqe.wqe_index = index;
    cqe.status = status;
    cqe.opcode = IBV_WC_RECV;
    cqe.flags = VROCE_WC_RECV;
    complete(cq(qp.request.recv_cq), cqe);
}

void FakeNic::send_comp_event(FakeCq& cq) {
    ++cq.comp_events;
    const ssize_t written = write(channels_.at(cq.request.channel), &cq.request.user_handle, sizeof(std::uint64_t));
    if (written != sizeof(std::uint64_t)) throw std::runtime_error("channel is full");
}

void FakeNic::send_async_event(std::uint64_t element, std::uint32_t type) {
    const vroce_async_event event{element, type, 0};
    for (auto& [handle, qp] : qps_) qp->async_events += qp->request.user_handle == element ? 1u : 0u;
    for (auto& [handle, cq] : cqs_) cq->async_events += cq->request.user_handle == element ? 1u : 0u;
    if (write(async_pipe_[1], &event, sizeof event) != sizeof event) throw std::runtime_error("async pipe is full");
}

std::uint32_t FakeNic::count(vroce_message message) {
    const std::lock_guard guard(mutex_);
    return counts_[message];
}

std::uint64_t FakeNic::wakeups() {
    std::uint64_t count = 0;
    return read(doorbell_fd_, &count, sizeof count) == sizeof count ? count : 0;
}

}  // namespace vroce::provider::test
