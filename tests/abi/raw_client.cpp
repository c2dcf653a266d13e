#include "tests/abi/raw_client.hpp"

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace vroce::test {
namespace {

Mapping map_fd(int fd, std::size_t bytes, int protection) {
    void* base = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
    close(fd);
    if (base == MAP_FAILED) return {};
    return {static_cast<std::byte*>(base), bytes};
}

void unmap(const Mapping& mapping) {
    if (mapping.base != nullptr) munmap(mapping.base, mapping.bytes);
}

}  // namespace

Fds::~Fds() {
    for (const int fd : fds_)
        if (fd >= 0) close(fd);
}

int Fds::take(std::size_t index) {
    return index < fds_.size() ? std::exchange(fds_[index], -1) : -1;
}

vroce_reply_header Reply::header() const {
    vroce_reply_header header{};
    if (bytes.size() < sizeof header) return {0, 0, -1, 0};
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
}

bool RawClient::connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

RawClient::~RawClient() {
    close_socket();
    for (const int fd : {event_fd_, async_fd_, async_write_fd_})
        if (fd >= 0) close(fd);
    unmap(status_);
    unmap(doorbell_);
    for (const auto& [id, arena] : arenas_) unmap(arena);
}

void RawClient::close_socket() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

bool RawClient::send_raw(std::span<const std::byte> bytes, std::span<const int> fds) const {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(fds.size_bytes()));
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
    }
    return sendmsg(fd_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

Reply RawClient::receive() const {
    Reply reply;
    reply.bytes.resize(4096);
    char control[CMSG_SPACE(sizeof(int) * 16)];
    iovec part{reply.bytes.data(), reply.bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t count = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
    reply.closed = count <= 0;
    reply.bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    if (count <= 0) return reply;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        for (std::size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            reply.fds.add(fd);
        }
    }
    return reply;
}

Reply RawClient::simple(vroce_message message, std::uint32_t handle) const {
    vroce_simple_request request{};
    request.handle = handle;
    return call(message, request);
}

int RawClient::hello() {
    vroce_hello hello{};
    hello.magic = VROCE_ABI_MAGIC;
    hello.major = VROCE_ABI_MAJOR;
    hello.minor = VROCE_ABI_MINOR;
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    Reply reply = call(VROCE_HELLO, hello, {&memory, 1});
    close(memory);
    hello_reply_ = reply.as<vroce_hello_reply>();
    if (reply.header().status != 0) return reply.header().status;
    if (reply.fds.count() != 5) return EPROTO;
    status_ = map_fd(reply.fds.take(0), hello_reply_.status_page_bytes, PROT_READ);
    doorbell_ = map_fd(reply.fds.take(1), hello_reply_.doorbell_page_bytes, PROT_READ | PROT_WRITE);
    event_fd_ = reply.fds.take(2);
    async_fd_ = reply.fds.take(3);
    async_write_fd_ = reply.fds.take(4);
    return status_.base != nullptr && doorbell_.base != nullptr ? 0 : ENOMEM;
}

int RawClient::alloc_pd(std::uint32_t& pd) const {
    const Reply reply = simple(VROCE_ALLOC_PD);
    pd = reply.as<vroce_simple_reply>().handle;
    return reply.header().status;
}

int RawClient::reg_mr(std::uint32_t pd, void* addr, std::size_t length, std::uint32_t access, vroce_reg_mr_reply& out,
                      int fd) const {
    vroce_reg_mr request{};
    request.pd = pd;
    request.access = access;
    request.addr = request.iova = reinterpret_cast<std::uint64_t>(addr);
    request.length = length;
    const Reply reply =
        fd < 0 ? call(VROCE_REG_MR, request) : call(VROCE_REG_MR, request, std::span<const int>(&fd, 1));
    out = reply.as<vroce_reg_mr_reply>();
    return reply.header().status;
}

int RawClient::create_channel(ClientChannel& channel) const {
    Reply reply = simple(VROCE_CREATE_CHANNEL);
    channel.handle = reply.as<vroce_create_channel_reply>().handle;
    channel.read_fd = reply.fds.take(0);
    channel.write_fd = reply.fds.take(1);
    return reply.header().status;
}

std::byte* RawClient::arena_at(const vroce_ring_place& place, std::uint64_t offset, Reply& reply) {
    if (reply.fds.count() > 0 && !arenas_.contains(place.arena))
        arenas_[place.arena] = map_fd(reply.fds.take(0), place.arena_bytes, PROT_READ | PROT_WRITE);
    const auto arena = arenas_.find(place.arena);
    return arena == arenas_.end() || arena->second.base == nullptr ? nullptr : arena->second.base + offset;
}

int RawClient::create_cq(std::uint32_t cqe, std::uint32_t channel, std::uint64_t user_handle, ClientCq& cq) {
    vroce_create_cq request{};
    request.cqe = cqe;
    request.channel = channel;
    request.user_handle = user_handle;
    Reply reply = call(VROCE_CREATE_CQ, request);
    if (reply.header().status != 0) return reply.header().status;
    cq.reply = reply.as<vroce_create_cq_reply>();
    cq.ring = reinterpret_cast<vroce_cqe*>(arena_at(cq.reply.ring, cq.reply.ring.offset, reply));
    cq.control = reinterpret_cast<vroce_cq_control*>(arena_at(cq.reply.ring, cq.reply.control_offset, reply));
    return cq.ring != nullptr ? 0 : EPROTO;
}

int RawClient::create_qp(std::uint32_t pd, const ClientCq& cq, std::uint64_t user_handle, ClientQp& qp,
                         std::uint32_t depth) {
    vroce_create_qp request{};
    request.pd = pd;
    request.send_cq = request.recv_cq = cq.reply.handle;
    request.qp_type = IBV_QPT_RC;
    request.max_send_wr = request.max_recv_wr = depth;
    request.max_send_sge = request.max_recv_sge = 1;
    request.max_inline = 64;
    request.user_handle = user_handle;
    Reply reply = call(VROCE_CREATE_QP, request);
    if (reply.header().status != 0) return reply.header().status;
    qp.reply = reply.as<vroce_create_qp_reply>();
    qp.sq = arena_at(qp.reply.sq, qp.reply.sq.offset, reply);
    qp.rq = arena_at(qp.reply.rq, qp.reply.rq.offset, reply);
    qp.control = reinterpret_cast<vroce_qp_control*>(arena_at(qp.reply.sq, qp.reply.control_offset, reply));
    return qp.sq != nullptr && qp.rq != nullptr ? 0 : EPROTO;
}

int RawClient::modify_qp(const ClientQp& qp, std::uint32_t mask, const vroce_qp_attr& attr) const {
    vroce_modify_qp request{};
    request.handle = qp.reply.handle;
    request.attr_mask = mask;
    request.attr = attr;
    return call(VROCE_MODIFY_QP, request).header().status;
}

int RawClient::connect_qp(const ClientQp& qp, std::uint32_t peer_qpn, const std::uint8_t (&gid)[16],
                          std::uint32_t access) const {
    vroce_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = access;
    if (const int error = modify_qp(qp, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, attr))
        return error;
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer_qpn;
    attr.rq_psn = 100;
    attr.max_dest_rd_atomic = 4;
    attr.min_rnr_timer = 12;
    attr.ah_is_global = 1;
    attr.ah_port_num = 1;
    attr.grh_hop_limit = 64;
    std::memcpy(attr.grh_dgid, gid, sizeof attr.grh_dgid);
    if (const int error = modify_qp(qp,
                                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                                    attr))
        return error;
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = 100;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 4;
    return modify_qp(
        qp,
        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
        attr);
}

void RawClient::post_recv(ClientQp& qp, std::uint64_t wr_id, void* addr, std::uint32_t length, std::uint32_t lkey) {
    std::byte* slot = qp.rq + (qp.received & (qp.reply.rq.slots - 1)) * qp.reply.rq.stride;
    const vroce_recv_wqe wqe{wr_id, 1, 0};
    const vroce_sge sge{reinterpret_cast<std::uint64_t>(addr), length, lkey};
    std::memcpy(slot, &wqe, sizeof wqe);
    std::memcpy(slot + sizeof wqe, &sge, sizeof sge);
    std::atomic_ref(qp.control->rq_producer).store(++qp.received, std::memory_order_release);
    ring(qp.reply.slot);
}

void RawClient::post_send(ClientQp& qp, const vroce_send_wqe& wqe, void* addr, std::uint32_t length,
                          std::uint32_t lkey) {
    std::byte* slot = qp.sq + (qp.sent & (qp.reply.sq.slots - 1)) * qp.reply.sq.stride;
    const vroce_sge sge{reinterpret_cast<std::uint64_t>(addr), length, lkey};
    std::memcpy(slot, &wqe, sizeof wqe);
    std::memcpy(slot + sizeof wqe, &sge, sizeof sge);
    std::atomic_ref(qp.control->sq_producer).store(++qp.sent, std::memory_order_release);
    ring(qp.reply.slot);
}

void RawClient::ring(std::uint32_t slot) const {
    auto& page = *reinterpret_cast<vroce_doorbell_page*>(doorbell_.base);
    const auto& status = *reinterpret_cast<vroce_status_page*>(status_.base);
    std::atomic_ref(page.leaf[slot / 64]).fetch_or(std::uint64_t{1} << (slot % 64));
    std::atomic_ref(page.summary[slot / 64 / 64]).fetch_or(std::uint64_t{1} << (slot / 64 % 64));
    auto& sleeping = const_cast<std::uint32_t&>(status.worker[hello_reply_.worker].sleeping);
    if (std::atomic_ref(sleeping).load() != 1) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(event_fd_, &one, sizeof one);
}

std::optional<vroce_cqe> RawClient::poll(ClientCq& cq) {
    const std::uint32_t slots = cq.reply.ring.slots;
    vroce_cqe& cqe = cq.ring[cq.consumer & (slots - 1)];
    if (std::atomic_ref(cqe.phase).load(std::memory_order_acquire) != cq.consumer / slots + 1) return std::nullopt;
    const vroce_cqe copy = cqe;
    std::atomic_ref(cq.control->consumer).store(++cq.consumer, std::memory_order_release);
    return copy;
}

void RawClient::arm(ClientCq& cq, std::uint32_t how) {
    std::atomic_ref(cq.control->armed).store(how, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace vroce::test
