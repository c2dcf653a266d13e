// Sends every kind of RC message between two hosts through stock libibverbs and compares every byte at both ends,
// guard bytes around each buffer included. perftest measures and does not look at the data; this does.
//
//   server:  verbs_check [options]          client:  verbs_check [options] ADDRESS
//   -d DEV  -p TCP_PORT  -m MTU  -s SEED  -L LARGEST_BYTES  -e (sleep on completion events)
//
// Exit code 0 and a last line "N messages, N bytes, all as sent", or 1 and the first difference.

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kGuardBytes = 4'096;
constexpr std::uint8_t kGuard = 0xEE;
constexpr int kBatch = 8;  // unsignalled messages behind which one signalled message stands

struct Options {
    std::string device;
    std::string server;
    int port = 18'600;
    std::uint32_t mtu_bytes = 0;  // 0: the port's
    std::uint64_t seed = 1;
    std::uint64_t largest_bytes = 4u << 20;
    bool events = false;
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "verbs_check: %s\n", what.c_str());
    std::exit(1);
}

/// What both sides must know of each other; sent as it is, both run on one architecture.
struct PeerInfo {
    std::uint32_t qpn;
    std::uint32_t psn;
    std::uint32_t rkey;
    std::uint32_t mtu;
    std::uint64_t source_addr;
    std::uint64_t target_addr;
    ibv_gid gid;
};

class TcpLink {
public:
    explicit TcpLink(const Options& options) {
        if (options.server.empty())
            accept_one(options.port);
        else
            connect_to(options.server, options.port);
    }
    ~TcpLink() { close(fd_); }
    void exchange(const void* mine, void* theirs, std::size_t bytes) {
        if (write(fd_, mine, bytes) != static_cast<ssize_t>(bytes)) fail("the TCP peer went away");
        std::size_t got = 0;
        while (got < bytes) {
            const ssize_t n = read(fd_, static_cast<char*>(theirs) + got, bytes - got);
            if (n <= 0) fail("the TCP peer went away");
            got += static_cast<std::size_t>(n);
        }
    }
    void barrier() {
        char mine = 'b';
        char theirs = 0;
        exchange(&mine, &theirs, 1);
    }

private:
    void accept_one(int port) {
        const int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int on = 1;
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(static_cast<std::uint16_t>(port));
        if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener, 1) != 0)
            fail("cannot listen on TCP port " + std::to_string(port));
        fd_ = accept(listener, nullptr, nullptr);
        close(listener);
    }
    void connect_to(const std::string& host, int port) {
        addrinfo* found = nullptr;
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) fail("unknown host " + host);
        for (int attempt = 0; attempt < 100; ++attempt) {
            fd_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (connect(fd_, found->ai_addr, found->ai_addrlen) == 0) break;
            close(fd_);
            fd_ = -1;
            usleep(100'000);
        }
        freeaddrinfo(found);
        if (fd_ < 0) fail("cannot connect to " + host);
    }
    int fd_ = -1;
};

/// One message kind, one length, one way of posting it.
struct Case {
    ibv_wr_opcode opcode;
    std::uint64_t bytes;
    int sges;
    bool inline_data;
    int messages;  // all but the last unsignalled
};

std::vector<Case> make_cases(std::uint32_t mtu, std::uint32_t max_inline, std::uint64_t largest) {
    std::vector<std::uint64_t> sizes{0, 1, 3, 8, 63, 64, 65, 1'025, 2'049, 4'097, 65'537};
    for (const std::uint64_t edge : {std::uint64_t{mtu}, std::uint64_t{mtu} * 2, std::uint64_t{mtu} * 17})
        for (const std::uint64_t size : {edge - 1, edge, edge + 1}) sizes.push_back(size);
    sizes.push_back((1u << 20) + 13);
    sizes.push_back(largest);
    const ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
                                     IBV_WR_RDMA_READ};
    std::vector<Case> cases;
    for (const ibv_wr_opcode opcode : opcodes) {
        for (const std::uint64_t size : sizes) {
            if (size > largest) continue;
            cases.push_back({opcode, size, 1, false, 1});
            if (size >= 3) cases.push_back({opcode, size, 3, false, 1});
            if (size * kBatch <= largest) cases.push_back({opcode, size, 1, false, kBatch});
            if (opcode != IBV_WR_RDMA_READ && size <= max_inline) cases.push_back({opcode, size, 1, true, kBatch});
        }
    }
    return cases;
}

std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/// The byte that side `side` sends at `offset` in case `number`.
std::uint8_t pattern(std::uint64_t seed, int side, std::uint64_t number, std::uint64_t offset) {
    const std::uint64_t word = mix(seed ^ mix(number * 2 + static_cast<std::uint64_t>(side)) ^ (offset / 8));
    return static_cast<std::uint8_t>(word >> (8 * (offset % 8)));
}

class Peer {
public:
    explicit Peer(const Options& options) : options_(options), link_(options) {
        open_device();
        make_buffers();
        make_queue_pair();
        connect_queue_pair();
    }

    void run() {
        const auto cases = make_cases(128u << mtu_, max_inline_, options_.largest_bytes);
        for (std::uint64_t i = 0; i < cases.size(); ++i) run_case(cases[i], i);
        std::printf("%llu messages, %llu bytes, all as sent\n", static_cast<unsigned long long>(messages_),
                    static_cast<unsigned long long>(bytes_));
    }

    ~Peer() {
        if (events_unacked_ != 0) ibv_ack_cq_events(cq_, events_unacked_);
        if (ibv_destroy_qp(qp_) != 0) fail("ibv_destroy_qp failed");
        if (ibv_destroy_cq(cq_) != 0) fail("ibv_destroy_cq failed");
        if (ibv_dereg_mr(source_mr_) != 0 || ibv_dereg_mr(target_mr_) != 0) fail("ibv_dereg_mr failed");
        if (channel_ != nullptr) ibv_destroy_comp_channel(channel_);
        if (ibv_dealloc_pd(pd_) != 0) fail("ibv_dealloc_pd failed");
        if (ibv_close_device(context_) != 0) fail("ibv_close_device failed");
    }

private:
    [[nodiscard]] int side() const { return options_.server.empty() ? 0 : 1; }

    void open_device() {
        int count = 0;
        ibv_device** devices = ibv_get_device_list(&count);
        for (int i = 0; devices != nullptr && i < count; ++i)
            if (options_.device.empty() || options_.device == ibv_get_device_name(devices[i])) {
                context_ = ibv_open_device(devices[i]);
                break;
            }
        if (devices != nullptr) ibv_free_device_list(devices);
        if (context_ == nullptr) fail("no device " + options_.device);
        ibv_port_attr port{};
        if (ibv_query_port(context_, 1, &port) != 0) fail("ibv_query_port failed");
        mtu_ = port.active_mtu;
        for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; ++mtu)
            if (options_.mtu_bytes == (128u << mtu)) mtu_ = static_cast<ibv_mtu>(mtu);
        for (gid_index_ = 0; gid_index_ < port.gid_tbl_len; ++gid_index_) {
            ibv_gid_entry entry{};
            if (ibv_query_gid_ex(context_, 1, static_cast<std::uint32_t>(gid_index_), &entry, 0) != 0) continue;
            if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && entry.gid.raw[10] == 0xff && entry.gid.raw[11] == 0xff) {
                gid_ = entry.gid;
                return;
            }
        }
        fail("no IPv4 RoCE v2 GID");
    }

    void make_buffers() {
        const std::size_t bytes = options_.largest_bytes + 2 * kGuardBytes;
        source_.assign(bytes, kGuard);
        target_.assign(bytes, kGuard);
        pd_ = ibv_alloc_pd(context_);
        if (pd_ == nullptr) fail("ibv_alloc_pd failed");
        const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
        source_mr_ = ibv_reg_mr(pd_, source_.data(), bytes, access);
        target_mr_ = ibv_reg_mr(pd_, target_.data(), bytes, access);
        if (source_mr_ == nullptr || target_mr_ == nullptr) fail("ibv_reg_mr failed");
    }

    void make_queue_pair() {
        if (options_.events) channel_ = ibv_create_comp_channel(context_);
        if (options_.events && channel_ == nullptr) fail("ibv_create_comp_channel failed");
        cq_ = ibv_create_cq(context_, 4 * kBatch, nullptr, channel_, 0);
        if (cq_ == nullptr) fail("ibv_create_cq failed");
        if (options_.events) ibv_req_notify_cq(cq_, 0);
        ibv_qp_init_attr init{};
        init.send_cq = cq_;
        init.recv_cq = cq_;
        init.qp_type = IBV_QPT_RC;
        init.cap = {2 * kBatch, 2 * kBatch, 4, 4, 236};
        qp_ = ibv_create_qp(pd_, &init);
        if (qp_ == nullptr) fail("ibv_create_qp failed");
        max_inline_ = init.cap.max_inline_data;
    }

    void connect_queue_pair() {
        PeerInfo mine{};
        mine.qpn = qp_->qp_num;
        mine.psn = static_cast<std::uint32_t>(mix(options_.seed + static_cast<std::uint64_t>(side()))) & 0xFFFFFF;
        if (options_.seed % 2 == 0) mine.psn = 0xFFFFF0;  // every even seed crosses the wrap of the PSN
        mine.mtu = static_cast<std::uint32_t>(mtu_);
        mine.gid = gid_;
        mine.source_addr = reinterpret_cast<std::uint64_t>(source_.data());
        mine.target_addr = reinterpret_cast<std::uint64_t>(target_.data());
        const std::uint32_t keys[2] = {source_mr_->rkey, target_mr_->rkey};
        link_.exchange(&mine, &remote_, sizeof mine);
        link_.exchange(keys, remote_keys_, sizeof keys);
        if (remote_.mtu < mine.mtu) mtu_ = static_cast<ibv_mtu>(remote_.mtu);
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
        modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = mtu_;
        attr.dest_qp_num = remote_.qpn;
        attr.rq_psn = remote_.psn;
        attr.max_dest_rd_atomic = 4;
        attr.min_rnr_timer = 1;
        attr.ah_attr.is_global = 1;
        attr.ah_attr.port_num = 1;
        attr.ah_attr.grh.dgid = remote_.gid;
        attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_index_);
        attr.ah_attr.grh.hop_limit = 64;
        modify(attr,
               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
               "RTR");
        attr.qp_state = IBV_QPS_RTS;
        attr.timeout = 14;
        attr.retry_cnt = 7;
        attr.rnr_retry = 7;
        attr.sq_psn = mine.psn;
        attr.max_rd_atomic = 4;
        modify(attr,
               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                   IBV_QP_MAX_QP_RD_ATOMIC,
               "RTS");
        link_.barrier();
    }

    void modify(ibv_qp_attr& attr, int mask, const char* state) {
        const int error = ibv_modify_qp(qp_, &attr, mask);
        if (error != 0) fail(std::string("ibv_modify_qp to ") + state + ": " + std::strerror(error));
    }

    void run_case(const Case& c, std::uint64_t number) {
        const bool initiator = number % 2 == static_cast<std::uint64_t>(side());
        const std::uint64_t total = c.bytes * static_cast<std::uint64_t>(c.messages);
        for (std::uint64_t i = 0; i < total; ++i) source_[kGuardBytes + i] = pattern(options_.seed, side(), number, i);
        std::memset(target_.data(), kGuard, kGuardBytes * 2 + total);
        const bool takes_receive = c.opcode != IBV_WR_RDMA_WRITE && c.opcode != IBV_WR_RDMA_READ;
        if (!initiator && takes_receive) post_receives(c);
        link_.barrier();
        if (initiator) {
            post_sends(c);
            await_completions(1, c, number, true);
        } else if (takes_receive) {
            await_completions(c.messages, c, number, false);
        }
        link_.barrier();
        const bool data_landed_here = (c.opcode == IBV_WR_RDMA_READ) == initiator;
        verify(data_landed_here ? total : 0, number, c);
        messages_ += static_cast<std::uint64_t>(c.messages);
        bytes_ += total;
        link_.barrier();
    }

    static int split(ibv_sge* sges, std::uint64_t addr, std::uint64_t bytes, int pieces, std::uint32_t lkey) {
        if (bytes == 0) return 0;
        for (int i = 0; i < pieces; ++i) {
            const std::uint64_t piece = i + 1 == pieces ? bytes : bytes / 3 + static_cast<std::uint64_t>(i);
            const std::uint64_t take = piece > bytes ? bytes : piece;
            sges[i] = {addr, static_cast<std::uint32_t>(take), lkey};
            addr += take;
            bytes -= take;
        }
        return pieces;
    }

    void post_receives(const Case& c) {
        for (int i = 0; i < c.messages; ++i) {
            ibv_sge sges[3];
            ibv_recv_wr wr{};
            ibv_recv_wr* bad = nullptr;
            wr.wr_id = static_cast<std::uint64_t>(i);
            wr.sg_list = sges;
            // A WRITE_WITH_IMM's receive takes no data.
            const bool with_room = c.opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
            const std::uint64_t at = target_address() + c.bytes * static_cast<std::uint64_t>(i);
            wr.num_sge = split(sges, at, with_room ? c.bytes : 0, c.sges == 1 ? 1 : 2, target_mr_->lkey);
            const int error = ibv_post_recv(qp_, &wr, &bad);
            if (error != 0) fail(std::string("ibv_post_recv: ") + std::strerror(error));
        }
    }

    void post_sends(const Case& c) {
        const bool read = c.opcode == IBV_WR_RDMA_READ;
        for (int i = 0; i < c.messages; ++i) {
            const std::uint64_t offset = c.bytes * static_cast<std::uint64_t>(i);
            ibv_sge sges[3];
            ibv_send_wr wr{};
            ibv_send_wr* bad = nullptr;
            wr.wr_id = 1'000 + static_cast<std::uint64_t>(i);
            wr.sg_list = sges;
            const std::uint64_t local = read ? target_address() : source_address();
            wr.num_sge = split(sges, local + offset, c.bytes, c.sges, read ? target_mr_->lkey : source_mr_->lkey);
            wr.opcode = c.opcode;
            wr.imm_data = htonl(0xABCD0000u + static_cast<std::uint32_t>(i));
            wr.wr.rdma.remote_addr = (read ? remote_.source_addr : remote_.target_addr) + kGuardBytes + offset;
            wr.wr.rdma.rkey = remote_keys_[read ? 0 : 1];
            wr.send_flags = 0;
            if (i + 1 == c.messages) wr.send_flags |= IBV_SEND_SIGNALED;
            if (c.inline_data) wr.send_flags |= IBV_SEND_INLINE;
            const int error = ibv_post_send(qp_, &wr, &bad);
            if (error != 0) fail(std::string("ibv_post_send: ") + std::strerror(error));
        }
        if (!c.inline_data) return;
        // Inline data were copied by ibv_post_send: what the program does to its buffer now must not show.
        std::memset(source_.data() + kGuardBytes, 0x55, c.bytes * static_cast<std::uint64_t>(c.messages));
    }

    void await_completions(int wanted, const Case& c, std::uint64_t number, bool send) {
        for (int got = 0; got < wanted;) {
            ibv_wc wc{};
            const int n = next_completion(wc);
            if (n < 0) fail("ibv_poll_cq failed");
            if (n == 0 && options_.events) wait_for_event();
            if (n <= 0) continue;
            if (wc.status != IBV_WC_SUCCESS)
                fail("case " + std::to_string(number) + ": " + ibv_wc_status_str(wc.status));
            check_completion(wc, c, got, send);
            ++got;
        }
    }

    void wait_for_event() {
        ibv_cq* cq = nullptr;
        void* user = nullptr;
        if (ibv_req_notify_cq(cq_, 0) != 0) fail("ibv_req_notify_cq failed");
        ibv_wc wc{};
        // Between the last poll and the arming an entry may have come: an event for it is not owed (IBTA 11.4.2.2).
        if (peek(wc)) return;
        if (ibv_get_cq_event(channel_, &cq, &user) != 0) fail("ibv_get_cq_event failed");
        if (cq != cq_) fail("an event for a completion queue that does not exist");
        if (++events_unacked_ == 16) {
            ibv_ack_cq_events(cq_, events_unacked_);
            events_unacked_ = 0;
        }
    }
    bool peek(ibv_wc& wc) {
        if (ibv_poll_cq(cq_, 1, &wc) <= 0) return false;
        peeked_ = wc;
        has_peeked_ = true;
        return true;
    }
    int next_completion(ibv_wc& wc) {
        if (!has_peeked_) return ibv_poll_cq(cq_, 1, &wc);
        wc = peeked_;
        has_peeked_ = false;
        return 1;
    }

    static void check_completion(const ibv_wc& wc, const Case& c, int index, bool send) {
        if (send) {
            if (wc.wr_id != 1'000u + static_cast<std::uint64_t>(c.messages - 1))
                fail("wrong wr_id of a send completion");
            return;
        }
        if (wc.wr_id != static_cast<std::uint64_t>(index)) fail("receive completions out of order");
        const bool imm = c.opcode == IBV_WR_SEND_WITH_IMM || c.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
        if (imm &&
            ((wc.wc_flags & IBV_WC_WITH_IMM) == 0 || ntohl(wc.imm_data) != 0xABCD0000u + static_cast<unsigned>(index)))
            fail("wrong immediate data");
        if (!imm && (wc.wc_flags & IBV_WC_WITH_IMM) != 0) fail("immediate data that nobody sent");
        if (wc.byte_len != c.bytes) fail("byte_len " + std::to_string(wc.byte_len) + " of " + std::to_string(c.bytes));
        const ibv_wc_opcode opcode = c.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
        if (wc.opcode != opcode) fail("wrong opcode of a receive completion");
    }

    void verify(std::uint64_t bytes, std::uint64_t number, const Case& c) const {
        for (std::uint64_t i = 0; i < bytes; ++i)
            if (target_[kGuardBytes + i] != pattern(options_.seed, 1 - side(), number, i))
                fail("case " + std::to_string(number) + " (opcode " + std::to_string(c.opcode) + ", " +
                     std::to_string(c.bytes) + " bytes x " + std::to_string(c.messages) + "): byte " +
                     std::to_string(i) + " differs");
        for (std::uint64_t i = 0; i < kGuardBytes; ++i)
            if (target_[i] != kGuard || target_[kGuardBytes + bytes + i] != kGuard)
                fail("case " + std::to_string(number) + ": bytes outside the message changed");
    }

    [[nodiscard]] std::uint64_t source_address() const {
        return reinterpret_cast<std::uint64_t>(source_.data()) + kGuardBytes;
    }
    [[nodiscard]] std::uint64_t target_address() const {
        return reinterpret_cast<std::uint64_t>(target_.data()) + kGuardBytes;
    }

    Options options_;
    TcpLink link_;
    ibv_context* context_ = nullptr;
    ibv_pd* pd_ = nullptr;
    ibv_mr* source_mr_ = nullptr;
    ibv_mr* target_mr_ = nullptr;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    std::vector<std::uint8_t> source_;
    std::vector<std::uint8_t> target_;
    ibv_wc peeked_{};
    bool has_peeked_ = false;
    PeerInfo remote_{};
    std::uint32_t remote_keys_[2] = {};
    ibv_gid gid_{};
    int gid_index_ = 0;
    ibv_mtu mtu_ = IBV_MTU_1024;
    std::uint32_t max_inline_ = 0;
    unsigned events_unacked_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t bytes_ = 0;
};

Options parse(int argc, char** argv) {
    Options options;
    int flag = 0;
    while ((flag = getopt(argc, argv, "d:p:m:s:L:e")) != -1) {
        switch (flag) {
            case 'd':
                options.device = optarg;
                break;
            case 'p':
                options.port = std::atoi(optarg);
                break;
            case 'm':
                options.mtu_bytes = static_cast<std::uint32_t>(std::atoi(optarg));
                break;
            case 's':
                options.seed = std::strtoull(optarg, nullptr, 0);
                break;
            case 'L':
                options.largest_bytes = std::strtoull(optarg, nullptr, 0);
                break;
            case 'e':
                options.events = true;
                break;
            default:
                std::exit(2);
        }
    }
    if (optind < argc) options.server = argv[optind];
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
    Peer(options).run();
    return 0;
}
