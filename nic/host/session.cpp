#include "nic/host/session.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "nic/host/session_modify.hpp"
#include "nic/host/session_reply.hpp"

namespace vroce::nic {

/// What a message looks like and who answers it.
struct Session::MessageKind {
    std::uint32_t message;
    std::size_t bytes;
    std::size_t fds_min;
    std::size_t fds_max;
    void (Session::*answer)(ReceivedRecord& record);
};

const Session::MessageKind* Session::find_kind(std::uint32_t message) {
    constexpr std::size_t kSimple = sizeof(vroce_simple_request);
    static constexpr MessageKind kKinds[] = {
        {VROCE_HELLO, sizeof(vroce_hello), 1, 1, &Session::hello},
        {VROCE_QUERY_DEVICE, kSimple, 0, 0, &Session::query_device},
        {VROCE_QUERY_PORT, kSimple, 0, 0, &Session::query_port},
        {VROCE_ALLOC_PD, kSimple, 0, 0, &Session::alloc_pd},
        {VROCE_DEALLOC_PD, kSimple, 0, 0, &Session::dealloc_pd},
        {VROCE_REG_MR, sizeof(vroce_reg_mr), 0, 1, &Session::reg_mr},
        {VROCE_DEREG_MR, kSimple, 0, 0, &Session::dereg_mr},
        {VROCE_CREATE_CHANNEL, kSimple, 0, 0, &Session::create_channel},
        {VROCE_DESTROY_CHANNEL, kSimple, 0, 0, &Session::destroy_channel},
        {VROCE_CREATE_CQ, sizeof(vroce_create_cq), 0, 0, &Session::create_cq},
        {VROCE_DESTROY_CQ, kSimple, 0, 0, &Session::destroy_cq},
        {VROCE_CREATE_QP, sizeof(vroce_create_qp), 0, 0, &Session::create_qp},
        {VROCE_MODIFY_QP, sizeof(vroce_modify_qp), 0, 0, &Session::modify_qp},
        {VROCE_QUERY_QP, kSimple, 0, 0, &Session::query_qp},
        {VROCE_DESTROY_QP, kSimple, 0, 0, &Session::destroy_qp},
    };
    const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [message](const MessageKind& k) { return k.message == message; });
    return kind == std::end(kKinds) ? nullptr : kind;
}

Session::Session(SessionHost& host, std::uint32_t id, Peer peer, UniqueFd socket, std::function<void()> on_ended)
    : host_(host), id_(id), peer_(std::move(peer)), socket_(std::move(socket)), on_ended_(std::move(on_ended)) {}

Session::~Session() {
    end();
}

bool Session::start() {
    socket_token_ = host_.reactor.add(socket_.get(), EPOLLIN, [this](std::uint32_t events) { on_socket(events); });
    if (peer_.death)
        death_token_ = host_.reactor.add(peer_.death.get(), EPOLLIN, [this](std::uint32_t) { on_death(); });
    return socket_token_ != 0 && (!peer_.death || death_token_ != 0);
}

// A forked child keeps the connection open, so that the process's death is the pidfd's word and not the socket's.
void Session::on_death() {
    host_.counters.add(HostCounter::SessionsDied);
    end();
}

void Session::end() {
    if (ended_) return;
    ended_ = true;
    host_.counters.add(HostCounter::SessionsClosed);
    host_.reactor.remove(socket_token_);
    host_.reactor.remove(death_token_);
    host_.reactor.cancel(resolve_timer_);
    for (const auto& [pipe, token] : watched_pipes_) host_.reactor.remove(token);
    watched_pipes_.clear();
    asking_.reset();
    pending_.reset();
    socket_ = UniqueFd();
    if (context_ != nullptr) host_.services.run_on_worker([this] { host_.device.close_context(context_); });
    context_ = nullptr;
    events_.reset();
    if (bell_) host_.services.doorbells->remove(bell_);
    bell_ = UniqueFd();
    doorbells_.reset();
    arenas_ = ArenaSet();
    cqs_.clear();
    qps_.clear();
    on_ended_();
}

bool Session::gone() {
    return ended_ && (memory_ == nullptr || memory_->idle());
}

void Session::abandon() {
    end();
    if (memory_ != nullptr) memory_->abandon();
}

// ---- records -------------------------------------------------------------------------------------------------------

void Session::on_socket(std::uint32_t events) {
    if (pending_ != nullptr) {
        // Not reading; only the end of the connection is reported.
        if ((events & (EPOLLHUP | EPOLLERR)) != 0) end();
        return;
    }
    for (std::size_t i = 0; i < kRequestsPerRound && !ended_ && pending_ == nullptr; ++i) {
        ReceivedRecord record;
        switch (receive_record(socket_.get(), record)) {
            case ReceiveResult::Nothing:
                return;
            case ReceiveResult::Closed:
                return end();
            case ReceiveResult::Record:
                on_record(record);
                break;
        }
    }
}

void Session::on_record(ReceivedRecord& record) {
    if (record.size < sizeof(vroce_request_header)) {
        host_.counters.add(HostCounter::DroppedMalformed);
        return end();
    }
    const auto header = request_of<vroce_request_header>(record);
    const MessageKind* kind = find_kind(header.message);
    if (kind == nullptr) return refuse(header.message, EOPNOTSUPP, HostCounter::RefusedMessage);
    if (record.size != kind->bytes || header.bytes != kind->bytes)
        return refuse(header.message, EINVAL, HostCounter::RefusedLength);
    if (record.fds_lost || record.fd_count < kind->fds_min || record.fd_count > kind->fds_max)
        return refuse(header.message, EINVAL, HostCounter::RefusedDescriptors);
    if ((header.message == VROCE_HELLO) == open())
        return refuse(header.message, EPROTO, HostCounter::RefusedNotGreeted);
    (this->*kind->answer)(record);
}

void Session::refuse(std::uint32_t message, int status, HostCounter reason) {
    host_.counters.add(reason);
    const vroce_reply_header header{message, sizeof header, status, 0};
    send(std::as_bytes(std::span(&header, 1)), {});
}

void Session::send(std::span<const std::byte> bytes, std::span<const int> fds) {
    if (ended_ || send_record(socket_.get(), bytes, fds)) return;
    host_.counters.add(HostCounter::DroppedUnreadReplies);
    end();
}

// ---- greeting ------------------------------------------------------------------------------------------------------

void Session::hello(ReceivedRecord& record) {
    const auto request = request_of<vroce_hello>(record);
    vroce_hello_reply answer{};
    answer.magic = VROCE_ABI_MAGIC;
    answer.major = VROCE_ABI_MAJOR;
    answer.minor = VROCE_ABI_MINOR;
    if (request.magic != VROCE_ABI_MAGIC || request.major != VROCE_ABI_MAJOR) {
        host_.counters.add(HostCounter::RefusedVersion);
        host_.services.log(fmt::format("{}: process {} refused: its plugin speaks ABI {}.{}, this process {}.{}",
                                       host_.config.name, peer_.pid, request.major, request.minor, VROCE_ABI_MAJOR,
                                       VROCE_ABI_MINOR));
        return reply(VROCE_HELLO, EPROTO, answer);
    }
    if (!is_process_memory(record.fds[0].get())) {
        host_.counters.add(HostCounter::RefusedDescriptors);
        return reply(VROCE_HELLO, EINVAL, answer);
    }
    std::unique_ptr<EventPipe> async;
    const int status = open_context(std::move(record.fds[0]), answer, async);
    if (status != 0) return reply(VROCE_HELLO, status, answer);
    const std::array<int, 5> fds{host_.services.status_page.fd(), doorbells_->fd(),
                                 bell_ ? bell_.get() : host_.services.doorbell_fd, async->read_fd(),
                                 async->application_write_fd()};
    EventPipe& pipe = *async;
    events_ = std::make_unique<ContextEvents>(std::move(async), host_.counters, host_.on_held);
    ContextResources resources{reinterpret_cast<vroce_doorbell_page*>(doorbells_->bytes().data()), memory_->open(),
                               memory_->copier(), events_.get()};
    host_.services.run_on_worker([&] { context_ = host_.device.open_context(std::move(resources)); });
    reply(VROCE_HELLO, 0, answer, fds);
    if (ended_) return;
    pipe.close_application_ends();
    doorbells_->close_fd();
    host_.on_change();
}

int Session::open_context(UniqueFd mem_fd, vroce_hello_reply& answer, std::unique_ptr<EventPipe>& async) {
    constexpr std::size_t kPageBytes = 4096;
    constexpr std::size_t kAsyncPipeBytes = 1024 * 1024;
    answer.workers = host_.services.status_page.workers();
    answer.worker = host_.services.worker;
    answer.status_page_bytes = host_.services.status_page.bytes();
    answer.doorbell_page_bytes = (sizeof(vroce_doorbell_page) + kPageBytes - 1) / kPageBytes * kPageBytes;
    Result<SharedMemory> page =
        SharedMemory::create("vroce-doorbell", answer.doorbell_page_bytes, SharedMemory::Writable::Everybody);
    Result<std::unique_ptr<EventPipe>> pipe = EventPipe::create(sizeof(vroce_async_event), kAsyncPipeBytes);
    if (!page || !pipe) return ENOMEM;
    doorbells_ = std::make_unique<SharedMemory>(std::move(*page));
    async = std::move(*pipe);
    memory_ = std::make_unique<MemoryAccess>(peer_, std::move(mem_fd), host_.services.doorbell_fd);
    return make_bell();
}

int Session::make_bell() {
    DoorbellSet* set = host_.services.doorbells;
    if (set == nullptr || bell_) return 0;
    bell_ = set->add();
    return bell_ ? 0 : EMFILE;
}

// ---- events that did not fit ---------------------------------------------------------------------------------------

void Session::watch_held_events() {
    if (events_ == nullptr) return;
    events_->for_each_pipe([this](EventPipe& pipe) {
        if (!pipe.holding() || watched_pipes_.contains(&pipe)) return;
        const Reactor::Token token =
            host_.reactor.add(pipe.write_fd(), EPOLLOUT, [this, &pipe](std::uint32_t) { write_held_events(pipe); });
        if (token != 0) watched_pipes_[&pipe] = token;
    });
}

void Session::write_held_events(EventPipe& pipe) {
    bool all_written = false;
    host_.services.run_on_worker([&] { all_written = pipe.flush(); });
    if (!all_written) return;
    host_.reactor.remove(watched_pipes_[&pipe]);
    watched_pipes_.erase(&pipe);
}

}  // namespace vroce::nic
