#include "provider/src/watcher.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>

#include "provider/src/context.hpp"

namespace vroce::provider {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr int kHeldRetryMs = 5;

int create_quiet_thread(pthread_t& thread, void* (*entry)(void*), void* argument) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    const int error = pthread_create(&thread, &attributes, entry, argument);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

}  // namespace

int Watcher::start(Context& context) {
    context_ = &context;
    wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd_ < 0) return errno;
    const int error = create_quiet_thread(thread_, run, this);
    running_ = error == 0;
    return error;
}

void Watcher::stop() {
    if (running_) {
        std::atomic_ref<bool>(stop_).store(true);
        poke();
        pthread_join(thread_, nullptr);
        running_ = false;
    }
    forget();
}

void Watcher::forget() {
    if (wake_fd_ >= 0) close(wake_fd_);
    wake_fd_ = -1;
}

void Watcher::poke() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_fd_, &one, sizeof one);
}

void* Watcher::run(void* self) {
    pthread_setname_np(pthread_self(), "vroce-watch");
    static_cast<Watcher*>(self)->watch();
    return nullptr;
}

void Watcher::watch() {
    // A socket that has hung up is ready for ever, so it leaves the set when its end was seen.
    std::array<pollfd, 2> waits{pollfd{wake_fd_, POLLIN, 0}, pollfd{context_->session.fd(), POLLRDHUP, 0}};
    bool all_written = true;
    while (!std::atomic_ref<bool>(stop_).load()) {
        if (poll(waits.data(), waits.size(), all_written ? -1 : kHeldRetryMs) < 0 && errno != EINTR) return;
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = read(wake_fd_, &count, sizeof count);
        if (waits[1].fd >= 0 && (waits[1].revents != 0 || context_->session.dead())) {
            waits[1].fd = -1;
            context_->on_nic_death();
        }
        all_written = context_->flush_held_events();
    }
}

}  // namespace vroce::provider
