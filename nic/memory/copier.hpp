// A thread that copies for applications of other users. A copy can block inside the application's address space for as
// long as the application likes (a userfaultfd or FUSE page): it must block this thread and not the worker.
//
// The worker submits and later collects, over two rings; data stand in a buffer of the job's own, so that a QP may go
// while its copy is stuck. Jobs are kept for reuse: a copy costs the worker no allocation and no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/spsc_ring.hpp"
#include "nic/memory/address_space.hpp"

namespace vroce::nic {

/// All but the constructor, the destructor and mark(), passed() belongs to the worker, or, once the context is closed,
/// to whoever closed it.
class Copier final : public AddressSpace {
public:
    /// `wake_fd` is written to when a copy has ended and collect() is due.
    Copier(std::unique_ptr<AddressSpace> memory, int wake_fd);
    /// Waits for a copy that runs; a stuck one ends with the application that holds it, so close after its death.
    ~Copier() override;
    Copier(const Copier&) = delete;
    Copier& operator=(const Copier&) = delete;

    CopyResult read(std::span<const RemotePiece> from, RoomSlices to, CopyTag tag) override;
    CopyResult write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, CopyTag tag) override;

    /// The QP goes: its copies are never told of and touch no slice; those not begun do not touch the application.
    void cancel(std::uint32_t qpn) override;
    void cancel_all();
    /// The QP is in error, or the region is deregistered: copies not begun end at once, as failed.
    void revoke_qp(std::uint32_t qpn);
    void revoke_key(std::uint32_t key);

    /// Hands out the copies that have ended, data in place: `ended(CopyTag, bool ok)`. How many there were, with the
    /// cancelled ones.
    template <typename Ended>
    std::size_t collect(Ended&& ended) {
        if (outstanding_.empty()) return 0;
        std::size_t count = 0;
        for (; count < kInFlight; ++count) {
            std::unique_ptr<Job> job = take_ended();
            if (job == nullptr) break;
            const bool wanted = !job->cancelled;
            const CopyTag tag = job->tag;
            const bool ok = job->ok;
            if (wanted && ok) land(*job);
            if (wanted) ended(tag, ok);  // may submit
            keep(std::move(job));
        }
        refill();
        return count;
    }
    [[nodiscard]] bool idle() const { return outstanding_.empty(); }
    /// Somebody waits for a copy.
    [[nodiscard]] bool waited_for() const { return wanted_ != 0; }

    /// Any thread: a copy that ran when mark() was taken is over when passed() says so. What was cancelled or revoked
    /// before does not touch the application's memory afterwards.
    [[nodiscard]] std::uint64_t mark() const { return started_.load(); }
    [[nodiscard]] bool passed(std::uint64_t mark) const { return finished_.load() >= mark; }

private:
    /// Jobs in the rings and in the thread's hands. The rest waits with the worker: neither ring is ever full.
    static constexpr std::size_t kInFlight = 256;
    static constexpr std::size_t kSpareJobs = 16;

    struct Job {
        enum class State : std::uint8_t { Queued, Running, Revoked };

        CopyTag tag;
        std::size_t place = 0;  ///< in outstanding_
        std::size_t tail_bytes = 0;
        std::size_t bytes = 0;
        bool is_read = false;
        bool cancelled = false;  ///< worker's
        bool ok = false;         ///< thread's until it has ended
        std::atomic<State> state{State::Queued};
        std::size_t piece_count = 0;
        std::size_t slice_count = 0;
        std::array<RemotePiece, kPiecesMax> pieces;
        std::array<std::span<std::uint8_t>, kPiecesMax> slices;  ///< worker's; where read data go at collection
        std::vector<std::uint8_t> data;
    };

    // ---- worker
    [[nodiscard]] std::unique_ptr<Job> make(std::span<const RemotePiece> pieces, std::size_t bytes, CopyTag tag);
    CopyResult submit(std::unique_ptr<Job> job);
    [[nodiscard]] bool post(Job* job);
    void refill();
    void wake();
    [[nodiscard]] std::unique_ptr<Job> take_ended();
    static void land(const Job& job);
    void keep(std::unique_ptr<Job> job);
    void cancel(Job& job);
    template <typename Which>
    void revoke_if(Which&& which);

    // ---- the thread
    void run();
    void perform(Job& job);

    std::unique_ptr<AddressSpace> memory_;
    int wake_fd_;

    // worker: rw
    std::vector<std::unique_ptr<Job>> outstanding_;
    std::vector<std::unique_ptr<Job>> spare_;
    std::deque<Job*> backlog_;
    std::size_t in_flight_ = 0;
    std::size_t wanted_ = 0;  ///< outstanding ones that nobody cancelled

    // both
    SpscRing<Job*, kInFlight> queue_;  // worker to thread
    SpscRing<Job*, kInFlight> ended_;  // thread to worker
    std::atomic<std::uint32_t> posted_{0};
    std::atomic<bool> stop_{false};
    std::atomic<bool> told_{false};  ///< wake_fd_ was written since the worker last collected
    std::atomic<std::uint64_t> started_{0};
    std::atomic<std::uint64_t> finished_{0};
    std::thread thread_;
};

}  // namespace vroce::nic
