// A real process that owns 64 KiB of known bytes, for tests that reach into it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace vroce::nic {

class Application {
public:
    enum Deed : int { Unmap = 1, Exec = 2, BecomeNobody = 3 };
    static constexpr std::size_t kBytes = 64 * 1024;

    Application() {
        memory_ = static_cast<std::uint8_t*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (pipe2(commands_, O_CLOEXEC) != 0 || pipe2(replies_, O_CLOEXEC) != 0) abort();
        pid_ = fork();
        if (pid_ == 0) serve();
        await_reply();
        mem_fd_ = open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDWR | O_CLOEXEC);
    }
    ~Application() {
        kill_now();
        for (const int fd : {commands_[0], commands_[1], replies_[0], replies_[1], mem_fd_})
            if (fd >= 0) close(fd);
        munmap(memory_, kBytes);
    }
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    static std::uint8_t byte_at(std::size_t offset) { return static_cast<std::uint8_t>(offset * 31 + offset / 256); }
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(memory_); }
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// The caller owns it.
    [[nodiscard]] int take_mem_fd() const { return dup(mem_fd_); }

    void do_in_child(Deed deed, std::size_t offset, std::size_t length) {
        const std::size_t command[3] = {static_cast<std::size_t>(deed), offset, length};
        if (write(commands_[1], command, sizeof command) != sizeof command) abort();
        await_reply();
    }
    void kill_now() {
        if (dead_) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        dead_ = true;
    }

private:
    void await_reply() const {
        char reply = 0;
        if (read(replies_[0], &reply, 1) != 1) abort();
        // exec closes the pipe's end only once it is done.
        if (reply == 'x') {
            close(replies_[1]);
            const_cast<Application*>(this)->replies_[1] = -1;
            if (read(replies_[0], &reply, 1) != 0) abort();
        }
    }
    [[noreturn]] void serve() {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::size_t i = 0; i < kBytes; ++i) memory_[i] = byte_at(i);
        reply('r');
        std::size_t command[3];
        while (read(commands_[0], command, sizeof command) == sizeof command) {
            switch (static_cast<Deed>(command[0])) {
                case Unmap:
                    munmap(memory_ + command[1], command[2]);
                    break;
                case BecomeNobody:
                    if (setgid(65534) != 0 || setuid(65534) != 0) abort();
                    break;
                case Exec:
                    reply('x');
                    execl("/bin/sleep", "sleep", "60", nullptr);
                    abort();
            }
            reply('d');
        }
        _exit(0);
    }
    void reply(char what) const {
        if (write(replies_[1], &what, 1) != 1) abort();
    }

    std::uint8_t* memory_;
    int commands_[2] = {-1, -1};
    int replies_[2] = {-1, -1};
    pid_t pid_ = -1;
    int mem_fd_ = -1;
    bool dead_ = false;
};

}  // namespace vroce::nic
