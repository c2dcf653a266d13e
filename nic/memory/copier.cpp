#include "nic/memory/copier.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace vroce::nic {

Copier::Copier(std::unique_ptr<AddressSpace> memory, int wake_fd) : memory_(std::move(memory)), wake_fd_(wake_fd) {
    // The process's signals are the main thread's.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Copier::~Copier() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stop_ = true;
    }
    posted_.notify_one();
    thread_.join();
}

CopyResult Copier::read(std::span<const RemotePiece> from, std::span<const std::span<std::uint8_t>> to, CopyTag tag) {
    auto job = std::make_unique<Job>();
    job->tag = tag;
    job->is_read = true;
    job->pieces.assign(from.begin(), from.end());
    job->slices.assign(to.begin(), to.end());
    std::size_t bytes = 0;
    for (const auto& slice : to) bytes += slice.size();
    job->data.resize(bytes);
    return submit(std::move(job));
}

CopyResult Copier::write(std::span<const RemotePiece> to, std::span<const std::uint8_t> from, std::size_t tail_bytes,
                         CopyTag tag) {
    auto job = std::make_unique<Job>();
    job->tag = tag;
    job->tail_bytes = tail_bytes;
    job->pieces.assign(to.begin(), to.end());
    job->data.assign(from.begin(), from.end());
    return submit(std::move(job));
}

CopyResult Copier::submit(std::unique_ptr<Job> job) {
    outstanding_.push_back(job.get());
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        queue_.push_back(std::move(job));
    }
    posted_.notify_one();
    return CopyResult::Pending;
}

void Copier::cancel(std::uint32_t qpn) {
    for (Job* job : outstanding_)
        if (job->tag.qpn == qpn) job->cancelled = true;
}

void Copier::collect(const std::function<void(CopyTag, bool)>& ended) {
    if (!any_ended_.load(std::memory_order_acquire)) return;
    std::deque<std::unique_ptr<Job>> jobs;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        jobs.swap(ended_);
        any_ended_.store(false, std::memory_order_release);
    }
    for (const auto& job : jobs) {
        outstanding_.erase(std::remove(outstanding_.begin(), outstanding_.end(), job.get()), outstanding_.end());
        if (job->cancelled) continue;
        std::size_t done = 0;
        for (const auto& slice : job->slices) {
            if (job->ok) std::memcpy(slice.data(), job->data.data() + done, slice.size());
            done += slice.size();
        }
        ended(job->tag, job->ok);
    }
}

void Copier::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        posted_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (stop_) return;
        std::unique_ptr<Job> job = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        const std::span<std::uint8_t> data(job->data);
        const CopyResult result = job->is_read ? memory_->read(job->pieces, {&data, 1}, job->tag)
                                               : memory_->write(job->pieces, data, job->tail_bytes, job->tag);
        job->ok = result == CopyResult::Done;
        lock.lock();
        ended_.push_back(std::move(job));
        any_ended_.store(true, std::memory_order_release);
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
    }
}

}  // namespace vroce::nic
