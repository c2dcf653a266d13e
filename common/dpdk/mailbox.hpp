// How the control thread reaches the worker: a function that the worker runs between two of its iterations.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace vroce {

class Mailbox {
public:
    Mailbox();
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    /// Any thread but the worker: runs `function` on the worker and returns when it has run. After stop(): runs nothing
    /// and returns false.
    bool call(const std::function<void()>& function);
    /// Worker: runs what waits. Costs one load when nothing does.
    bool drain() {
        if (!waiting_.load(std::memory_order_acquire)) return false;
        run();
        return true;
    }
    /// Worker, when its loop has ended: callers that wait are let go.
    void stop();
    /// Readable when a call waits; for the sleeping worker's epoll.
    [[nodiscard]] int fd() const { return event_fd_; }

private:
    void run();

    std::mutex caller_mutex_;  ///< one call at a time
    std::mutex mutex_;
    std::condition_variable done_;
    const std::function<void()>* function_ = nullptr;
    bool stopped_ = false;
    std::atomic<bool> waiting_{false};
    int event_fd_;
};

}  // namespace vroce
