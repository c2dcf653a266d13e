// One application's connection: one ibv_context. It reads requests, has the worker do them, and answers; whatever the
// peer sends, or does not read, costs itself only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "nic/host/context_events.hpp"
#include "nic/host/memory_access.hpp"
#include "nic/host/peer.hpp"
#include "nic/host/session_host.hpp"

namespace vroce::nic {

/// Control thread only.
class Session {
public:
    static constexpr std::size_t kChannelsMax = 256;
    static constexpr std::size_t kMappedMrsMax = 1024;  ///< mappings of ours that one application may cost
    static constexpr std::size_t kRequestsPerRound = 16;

    Session(SessionHost& host, std::uint32_t id, Peer peer, UniqueFd socket, std::function<void()> on_ended);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// False when there is nothing to wait with.
    [[nodiscard]] bool start();
    /// Frees everything that the application had; the object may go when gone() says so.
    void end();
    [[nodiscard]] bool ended() const { return ended_; }
    /// Ended, and no copy of it is stuck in the application's memory.
    [[nodiscard]] bool gone();
    /// The process ends.
    void abandon();

    [[nodiscard]] const Peer& peer() const { return peer_; }
    [[nodiscard]] std::uint32_t id() const { return id_; }
    [[nodiscard]] bool open() const { return context_ != nullptr; }
    [[nodiscard]] const char* memory_name() const { return memory_ ? memory_->name() : "none"; }
    [[nodiscard]] std::size_t qp_count() const { return qps_.size(); }
    [[nodiscard]] std::size_t cq_count() const { return cqs_.size(); }
    /// nullptr before HELLO.
    [[nodiscard]] ContextEvents* events() { return events_.get(); }
    /// Pipes that hold events are waited for from now on.
    void watch_held_events();

private:
    struct MessageKind;
    static const MessageKind* find_kind(std::uint32_t message);
    struct RingRecord {  ///< of a CQ or a QP
        std::uint32_t arena = 0;
        std::uint64_t offset = 0;
        std::uint64_t user_handle = 0;
        std::uint32_t channel = 0;  ///< CQ
    };
    using Records = std::unordered_map<std::uint32_t, RingRecord>;
    struct Modify;

    // ---- connection
    void on_socket(std::uint32_t events);
    void on_record(ReceivedRecord& record);
    void on_death();
    void refuse(std::uint32_t message, int status, HostCounter reason);
    template <typename Reply>
    void reply(std::uint32_t message, int status, Reply& reply, std::span<const int> fds = {});
    void send(std::span<const std::byte> bytes, std::span<const int> fds);
    [[nodiscard]] std::optional<int> check(const MessageKind& kind, const ReceivedRecord& record);

    // ---- requests, one function each
    void hello(ReceivedRecord& record);
    void query_device(ReceivedRecord& record);
    void query_port(ReceivedRecord& record);
    void alloc_pd(ReceivedRecord& record);
    void dealloc_pd(ReceivedRecord& record);
    void reg_mr(ReceivedRecord& record);
    void dereg_mr(ReceivedRecord& record);
    void create_channel(ReceivedRecord& record);
    void destroy_channel(ReceivedRecord& record);
    void create_cq(ReceivedRecord& record);
    void destroy_cq(ReceivedRecord& record);
    void create_qp(ReceivedRecord& record);
    void modify_qp(ReceivedRecord& record);
    void query_qp(ReceivedRecord& record);
    void destroy_qp(ReceivedRecord& record);

    // ---- parts of them
    [[nodiscard]] int open_context(UniqueFd mem_fd, vroce_hello_reply& reply, std::unique_ptr<EventPipe>& async);
    [[nodiscard]] int make_cq(const vroce_create_cq& request, vroce_create_cq_reply& reply, ArenaPlace& place);
    [[nodiscard]] int make_qp(const vroce_create_qp& request, vroce_create_qp_reply& reply, ArenaPlace& place);
    [[nodiscard]] std::unique_ptr<MappedMemory> map_shared(const vroce_reg_mr& request, const UniqueFd& fd);
    [[nodiscard]] int find_path(Modify& modify);
    void resolve(const Modify& modify);
    void on_resolved(int error, const MacAddress& mac);
    void finish_modify(const Modify& modify, const ResolvedPath* path);
    void write_held_events(EventPipe& pipe);
    [[nodiscard]] int make_bell();
    template <typename F>
    int on_worker(F&& call);

    SessionHost& host_;
    std::uint32_t id_;
    Peer peer_;
    UniqueFd socket_;
    std::function<void()> on_ended_;
    Reactor::Token socket_token_ = 0;
    Reactor::Token death_token_ = 0;
    bool ended_ = false;

    Context* context_ = nullptr;  ///< worker's
    std::unique_ptr<SharedMemory> doorbells_;
    UniqueFd bell_;  ///< of its own, where the NIC has a set of them
    std::unique_ptr<MemoryAccess> memory_;
    std::unique_ptr<ContextEvents> events_;
    ArenaSet arenas_;
    Records cqs_;
    Records qps_;
    std::map<std::uint32_t, std::uint32_t> channel_users_;  ///< channel -> its CQs
    std::uint32_t next_channel_ = 0;
    std::size_t mapped_mrs_ = 0;
    std::unordered_map<std::uint32_t, bool> mrs_mapped_;  ///< MR handle -> it has a mapping
    std::map<EventPipe*, Reactor::Token> watched_pipes_;

    /// A MODIFY_QP that waits for a MAC address; no other request is read meanwhile.
    std::unique_ptr<Modify> pending_;
    Reactor::Token resolve_timer_ = 0;
    std::shared_ptr<Session*> asking_;  ///< gone when an answer of the resolver comes too late
};

}  // namespace vroce::nic
