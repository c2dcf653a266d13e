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
    stop_.store(true);
    wake();
    thread_.join();
}

// ---- worker --------------------------------------------------------------------------------------------------------

CopyResult Copier::read(std::span<const RemotePiece> from, RoomSlices to, CopyTag tag) {
    if (from.size() > kPiecesMax || to.size() > kPiecesMax) return CopyResult::Fault;
    std::unique_ptr<Job> job = make(from, total_bytes(to), tag);
    job->is_read = true;
    std::copy(to.begin(), to.end(), job->slices.begin());
    job->slice_count = to.size();
    return submit(std::move(job));
}

CopyResult Copier::write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, CopyTag tag) {
    if (to.size() > kPiecesMax) return CopyResult::Fault;
    std::unique_ptr<Job> job = make(to, total_bytes(from), tag);
    job->is_read = false;
    job->slice_count = 0;
    job->tail_bytes = tail_bytes;
    auto end = job->data.begin();
    for (const auto& slice : from) end = std::copy(slice.begin(), slice.end(), end);
    return submit(std::move(job));
}

std::unique_ptr<Copier::Job> Copier::make(std::span<const RemotePiece> pieces, std::size_t bytes, CopyTag tag) {
    std::unique_ptr<Job> job;
    if (spare_.empty()) {
        job = std::make_unique<Job>();
    } else {
        job = std::move(spare_.back());
        spare_.pop_back();
    }
    job->tag = tag;
    job->bytes = bytes;
    job->cancelled = job->ok = false;
    job->state.store(Job::State::Queued, std::memory_order_relaxed);
    std::copy(pieces.begin(), pieces.end(), job->pieces.begin());
    job->piece_count = pieces.size();
    if (job->data.size() < bytes) job->data.resize(bytes);
    return job;
}

CopyResult Copier::submit(std::unique_ptr<Job> job) {
    Job* raw = job.get();
    raw->place = outstanding_.size();
    outstanding_.push_back(std::move(job));
    ++wanted_;
    if (backlog_.empty() && post(raw))
        wake();
    else
        backlog_.push_back(raw);
    return CopyResult::Pending;
}

bool Copier::post(Job* job) {
    if (in_flight_ == kInFlight || !queue_.push(job)) return false;
    ++in_flight_;
    return true;
}

void Copier::refill() {
    bool any = false;
    for (; !backlog_.empty() && post(backlog_.front()); any = true) backlog_.pop_front();
    if (any) wake();
}

/// A system call only when the thread sleeps.
void Copier::wake() {
    posted_.fetch_add(1);
    posted_.notify_one();
}

std::unique_ptr<Copier::Job> Copier::take_ended() {
    told_.store(false);
    Job* job = nullptr;
    if (!ended_.pop(job)) return nullptr;
    --in_flight_;
    const std::size_t place = job->place;
    std::unique_ptr<Job> taken = std::move(outstanding_[place]);
    if (place + 1 != outstanding_.size()) {
        outstanding_[place] = std::move(outstanding_.back());
        outstanding_[place]->place = place;
    }
    outstanding_.pop_back();
    if (!taken->cancelled) --wanted_;
    return taken;
}

void Copier::land(const Job& job) {
    std::size_t done = 0;
    for (std::size_t i = 0; i < job.slice_count; ++i) {
        std::memcpy(job.slices[i].data(), job.data.data() + done, job.slices[i].size());
        done += job.slices[i].size();
    }
}

void Copier::keep(std::unique_ptr<Job> job) {
    if (spare_.size() < kSpareJobs) spare_.push_back(std::move(job));
}

void Copier::cancel(Job& job) {
    if (job.cancelled) return;
    job.cancelled = true;
    --wanted_;
    Job::State expected = Job::State::Queued;
    job.state.compare_exchange_strong(expected, Job::State::Revoked);
}

void Copier::cancel(std::uint32_t qpn) {
    if (wanted_ == 0) return;
    for (const auto& job : outstanding_)
        if (job->tag.qpn == qpn) cancel(*job);
}

void Copier::cancel_all() {
    for (const auto& job : outstanding_) cancel(*job);
}

template <typename Which>
void Copier::revoke_if(Which&& which) {
    for (const auto& job : outstanding_) {
        Job::State expected = Job::State::Queued;
        if (which(*job)) job->state.compare_exchange_strong(expected, Job::State::Revoked);
    }
}

void Copier::revoke_qp(std::uint32_t qpn) {
    revoke_if([qpn](const Job& job) { return job.tag.qpn == qpn; });
}

void Copier::revoke_key(std::uint32_t key) {
    revoke_if([key](const Job& job) {
        const auto end = job.pieces.begin() + static_cast<std::ptrdiff_t>(job.piece_count);
        return std::any_of(job.pieces.begin(), end, [key](const RemotePiece& piece) { return piece.key == key; });
    });
}

// ---- the thread ----------------------------------------------------------------------------------------------------

void Copier::run() {
    while (!stop_.load()) {
        const std::uint32_t seen = posted_.load();
        Job* job = nullptr;
        if (!queue_.pop(job)) {
            if (!stop_.load()) posted_.wait(seen);
            continue;
        }
        perform(*job);
        static_cast<void>(ended_.push(job));  // never full: see kInFlight
        if (told_.exchange(true)) continue;
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
    }
}

void Copier::perform(Job& job) {
    started_.fetch_add(1);  // before the state: whoever finds the job running has a mark that waits for it
    Job::State expected = Job::State::Queued;
    if (job.state.compare_exchange_strong(expected, Job::State::Running)) {
        const std::span<const RemotePiece> pieces(job.pieces.data(), job.piece_count);
        const std::span<std::uint8_t> room(job.data.data(), job.bytes);
        const std::span<const std::uint8_t> bytes = room;
        const CopyResult result = job.is_read ? memory_->read(pieces, {&room, 1}, job.tag)
                                              : memory_->write(pieces, {&bytes, 1}, job.tail_bytes, job.tag);
        job.ok = result == CopyResult::Done;
    }
    finished_.fetch_add(1);
}

}  // namespace vroce::nic
