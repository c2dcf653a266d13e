#include "common/dpdk/mailbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace vroce {

Mailbox::Mailbox() : event_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Mailbox::~Mailbox() {
    close(event_fd_);
}

bool Mailbox::call(const std::function<void()>& function) {
    const std::lock_guard<std::mutex> one_caller(caller_mutex_);
    std::unique_lock<std::mutex> lock(mutex_);
    if (stopped_) return false;
    function_ = &function;
    waiting_.store(true, std::memory_order_release);
    // The worker may sleep or not; the eventfd wakes it in either case and costs the control thread one system call.
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event_fd_, &one, sizeof one);
    done_.wait(lock, [this] { return function_ == nullptr || stopped_; });
    const bool ran = function_ == nullptr;
    function_ = nullptr;
    waiting_.store(false, std::memory_order_release);
    return ran;
}

void Mailbox::run() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t size = read(event_fd_, &count, sizeof count);
    if (function_ != nullptr) (*function_)();
    function_ = nullptr;
    waiting_.store(false, std::memory_order_release);
    done_.notify_one();
}

void Mailbox::stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    done_.notify_all();
}

}  // namespace vroce
