// One opened device: the session with the NIC process, the mapped arenas, and the tables that lead from what the NIC
// says (a QP slot, a channel) to our objects.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "provider/src/event_pipe.hpp"
#include "provider/src/ordering.hpp"
#include "provider/src/private_abi.hpp"
#include "provider/src/process_guard.hpp"
#include "provider/src/queues.hpp"
#include "provider/src/session.hpp"
#include "provider/src/watcher.hpp"

namespace vroce::provider {

/// A completion channel made through the CREATE_COMP_CHANNEL command (provider/kernel_abi).
struct Channel {
    std::uint32_t handle = 0;
    EventPipe pipe{sizeof(std::uint64_t)};
};

class Context {
public:
    Context(verbs_context& base, const char* name) : verbs(base), device_name(name) {}
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Connects, says hello, takes the shared pages and the device's attributes. 0 or an errno, told on stderr.
    int open(const char* session_path);
    /// False in a forked child, which must leave rings and socket alone.
    [[nodiscard]] bool usable() const { return ProcessGuard::is_in(epoch_); }
    /// True from the moment that the NIC process was found to be gone.
    [[nodiscard]] bool dead() const { return dead_.load(std::memory_order_acquire) != 0; }
    /// 0, or why control verbs can't be answered here.
    [[nodiscard]] int control_error() const { return usable() && !dead() ? 0 : EIO; }

    /// Address of [offset, offset + bytes) in an arena; null when there is no such place. A descriptor that came with
    /// the reply (else -1) is mapped first, and closed.
    std::byte* arena_at(const vroce_ring_place& place, std::uint64_t offset, std::uint64_t bytes, int new_fd);

    void add_qp(QueuePair& qp);
    void remove_qp(QueuePair& qp);
    [[nodiscard]] QueuePair* qp_at(std::uint32_t slot) const {
        return slot < VROCE_MAX_QP_SLOTS ? qps_[slot].load(std::memory_order_acquire) : nullptr;
    }
    void add_cq(CompletionQueue& cq);
    void remove_cq(CompletionQueue& cq);

    /// 0 and the descriptor for the application, or an errno.
    int create_channel(int& read_fd);
    Channel* find_channel(int read_fd);
    /// Called when libibverbs closes `read_fd`; false when it is no channel of ours.
    bool drop_channel(int read_fd);

    /// The NIC process is gone: wakes everybody who waits for an event. Called by the watcher, once.
    void on_nic_death();
    /// Writes event records that found their pipe full; false while some are left.
    bool flush_held_events();

    verbs_context& verbs;
    const char* device_name;
    Session session;
    Doorbell doorbell;
    vroce_device_attr device{};
    /// Held from the request for a queue until its rings are placed: an arena's descriptor comes once, with the reply
    /// that first names the arena.
    std::mutex creation;
    EventPipe async_events{sizeof(vroce_async_event)};
    Watcher watcher;

private:
    struct Arena {
        std::uint32_t id;
        std::byte* base;
        std::uint64_t bytes;
    };

    int say_hello();
    int take_pages(const vroce_hello_reply& reply, ReceivedFds& fds);
    const Arena* find_arena(std::uint32_t id) const;

    std::uint32_t epoch_ = 0;
    std::atomic<std::uint32_t> dead_{0};
    void* status_page_ = nullptr;
    std::uint64_t status_bytes_ = 0;
    std::uint64_t doorbell_bytes_ = 0;
    std::unique_ptr<std::atomic<QueuePair*>[]> qps_;

    std::mutex mutex_;  ///< guards all below
    std::vector<Arena> arenas_;
    std::vector<std::unique_ptr<Channel>> channels_;
    std::vector<CompletionQueue*> cqs_;
};

/// What _verbs_init_and_alloc_context makes for us.
struct ContextBlock {
    verbs_context verbs;
    Context* context;
};
inline Context& context_of(ibv_context* context) {
    auto* verbs = reinterpret_cast<char*>(context) - offsetof(verbs_context, context);
    return *reinterpret_cast<ContextBlock*>(verbs)->context;
}

}  // namespace vroce::provider
