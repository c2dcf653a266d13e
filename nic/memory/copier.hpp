// A thread that copies for applications of other users. A copy can block inside the application's address space for as
// long as the application likes (a userfaultfd or FUSE page): it must block this thread and not the worker.
//
// The worker submits and later collects; data stand in a buffer of the job's own, so that a QP may go while its copy is
// stuck.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "nic/memory/address_space.hpp"

namespace vroce::nic {

class Copier final : public AddressSpace {
public:
    /// `wake_fd` is written to when a copy has ended and collect() is due.
    Copier(std::unique_ptr<AddressSpace> memory, int wake_fd);
    /// Waits for a copy that runs; a stuck one ends with the application that holds it, so close after its death.
    ~Copier() override;
    Copier(const Copier&) = delete;
    Copier& operator=(const Copier&) = delete;

    CopyResult read(std::span<const RemotePiece> from, std::span<const std::span<std::uint8_t>> to,
                    CopyTag tag) override;
    CopyResult write(std::span<const RemotePiece> to, std::span<const std::uint8_t> from, std::size_t tail_bytes,
                     CopyTag tag) override;
    void cancel(std::uint32_t qpn) override;

    /// Worker: hands out the copies that have ended, data in place.
    void collect(const std::function<void(CopyTag, bool ok)>& ended);
    [[nodiscard]] bool idle() const { return outstanding_.empty(); }

private:
    struct Job {
        CopyTag tag;
        bool is_read = false;
        std::size_t tail_bytes = 0;
        bool ok = false;
        bool cancelled = false;  ///< worker's
        std::vector<RemotePiece> pieces;
        std::vector<std::span<std::uint8_t>> slices;  ///< worker's; where read data go at collection
        std::vector<std::uint8_t> data;
    };
    CopyResult submit(std::unique_ptr<Job> job);
    void run();

    std::unique_ptr<AddressSpace> memory_;
    int wake_fd_;
    std::vector<Job*> outstanding_;  ///< worker's view, for cancel

    std::mutex mutex_;
    std::condition_variable posted_;
    std::deque<std::unique_ptr<Job>> queue_;
    std::deque<std::unique_ptr<Job>> ended_;
    std::atomic<bool> any_ended_{false};
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace vroce::nic
