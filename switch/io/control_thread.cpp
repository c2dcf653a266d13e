// One epoll over everything that is not a packet.
#include "switch/io/control_thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>

namespace vroce::sw {
namespace {

/// A doorbell that looks for its server is asked this often.
constexpr int kDoorbellRetryMs = 100;
constexpr std::chrono::seconds kTick{1};
constexpr int kTickMs = 1'000;

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

/// The worker may be pinned; this thread, which it started, must not sit on its core.
void allow_all_processors() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
    sched_setaffinity(0, sizeof all, &all);
}

}  // namespace

void block_signals() {
    const sigset_t set = stop_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signal(SIGPIPE, SIG_IGN);
}

ControlThread::ControlThread(ControlServer& server, IoPorts& ports, Worker& worker, Mailbox& mailbox,
                             std::function<void()> each_second)
    : server_(server),
      ports_(ports),
      worker_(worker),
      mailbox_(mailbox),
      each_second_(std::move(each_second)),
      next_tick_(std::chrono::steady_clock::now() + kTick),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)) {
    const sigset_t set = stop_signals();
    signal_fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    stop_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    watch(server_.fd());
    watch(signal_fd_);
    watch(stop_fd_);
    for (const auto& port : ports_.ports) {
        if (port->device->doorbell() != nullptr) watch(port->device->doorbell()->fd());
    }
    thread_ = std::thread([this] { run(); });
}

ControlThread::~ControlThread() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_fd_, &one, sizeof one);
    thread_.join();
    for (const int fd : {epoll_fd_, signal_fd_, stop_fd_}) close(fd);
}

void ControlThread::watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
}

void ControlThread::run() {
    pthread_setname_np(pthread_self(), "vroce-control");
    allow_all_processors();
    while (true) {
        std::array<epoll_event, 16> events{};
        const int timeout_ms = all_doorbells_connected() ? kTickMs : kDoorbellRetryMs;
        const int count = epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), timeout_ms);
        bool doorbells = count <= 0;
        for (int i = 0; i < count; ++i) {
            const int fd = events[static_cast<std::size_t>(i)].data.fd;
            if (fd == stop_fd_) return;
            if (fd == signal_fd_) {
                take_signal();
            } else if (fd == server_.fd()) {
                server_.serve();
            } else {
                doorbells = true;
            }
        }
        if (doorbells) serve_doorbells();
        tick();
    }
}

void ControlThread::tick() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_tick_) return;
    next_tick_ = now + kTick;
    each_second_();
}

bool ControlThread::all_doorbells_connected() const {
    for (const auto& port : ports_.ports) {
        Doorbell* doorbell = port->device->doorbell();
        if (doorbell != nullptr && !doorbell->connected()) return false;
    }
    return true;
}

void ControlThread::serve_doorbells() {
    for (const auto& port : ports_.ports) {
        if (port->device->doorbell() != nullptr) port->device->doorbell()->serve();
    }
}

void ControlThread::take_signal() {
    signalfd_siginfo info{};
    if (read(signal_fd_, &info, sizeof info) != sizeof info) return;
    mailbox_.call([this] { worker_.stop(); });
}

}  // namespace vroce::sw
