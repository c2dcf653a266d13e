// A real process that owns 64 KiB of known bytes, for tests that reach into it. It hands over its /proc/self/mem, as
// the plugin does.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace vroce::nic {

class Application {
public:
    enum Deed : int { Unmap = 1, Exec, BecomeNobody, MakeReadOnly, MapSharedReadOnly, TouchFar, Exit };
    /// TouchFar puts known bytes 5 GiB into a range that is otherwise untouched.
    static constexpr std::uint64_t kFarBytes = std::uint64_t{6} << 30;
    static constexpr std::uint64_t kGuardBytes = 4'096;  ///< after it; TouchFar makes a hole of them
    static constexpr std::uint64_t kFarData = std::uint64_t{5} << 30;
    static constexpr std::size_t kBytes = 64 * 1024;

    Application() {
        memory_ = static_cast<std::uint8_t*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        far_ = static_cast<std::uint8_t*>(mmap(nullptr, kFarBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (memory_ == MAP_FAILED || far_ == MAP_FAILED) abort();
        if (pipe2(commands_, O_CLOEXEC) != 0 || pipe2(replies_, O_CLOEXEC) != 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, handover_) != 0)
            abort();
        pid_ = fork();
        if (pid_ == 0) serve();
        await_reply();
        mem_fd_ = receive_fd();
    }
    ~Application() {
        kill_now();
        for (const int fd : {commands_[0], commands_[1], replies_[0], replies_[1], handover_[0], handover_[1], mem_fd_})
            if (fd >= 0) close(fd);
        munmap(memory_, kBytes);
        munmap(far_, kFarBytes + kGuardBytes);
    }
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    static std::uint8_t byte_at(std::size_t offset) { return static_cast<std::uint8_t>(offset * 31 + offset / 256); }
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(memory_); }
    [[nodiscard]] std::uint64_t far_address() const { return reinterpret_cast<std::uint64_t>(far_); }
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// The caller owns it.
    [[nodiscard]] int take_mem_fd() const { return dup(mem_fd_); }

    void do_in_child(Deed deed, std::size_t offset, std::size_t length) {
        const std::size_t command[3] = {static_cast<std::size_t>(deed), offset, length};
        if (write(commands_[1], command, sizeof command) != sizeof command) abort();
        await_reply();
    }
    /// Ends by itself, as a program does.
    void exit_and_wait() {
        do_in_child(Exit, 0, 0);
        waitpid(pid_, nullptr, 0);
        dead_ = true;
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
        send_fd(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
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
                    // As exec does for it: what keeps the NIC out must be the user, not this flag.
                    prctl(PR_SET_DUMPABLE, 1);
                    break;
                case MakeReadOnly:
                    if (mprotect(memory_ + command[1], command[2], PROT_READ) != 0) abort();
                    break;
                case MapSharedReadOnly:
                    if (mmap(memory_ + command[1], command[2], PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1,
                             0) == MAP_FAILED)
                        abort();
                    break;
                case TouchFar:
                    munmap(far_ + kFarBytes, kGuardBytes);
                    for (std::size_t i = 0; i < 8'192; ++i) far_[kFarData + i] = byte_at(i);
                    break;
                case Exit:
                    reply('d');
                    _exit(0);
                case Exec:
                    reply('x');
                    execl("/bin/sleep", "sleep", "60", nullptr);
                    abort();
            }
            reply('d');
        }
        _exit(0);
    }
    void send_fd(int fd) const {
        char byte = 'm';
        iovec data{&byte, 1};
        alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
        msghdr message{};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = space;
        message.msg_controllen = sizeof space;
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
        if (fd < 0 || sendmsg(handover_[1], &message, 0) != 1) abort();
        close(fd);
    }
    [[nodiscard]] int receive_fd() const {
        char byte = 0;
        iovec data{&byte, 1};
        alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
        msghdr message{};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        message.msg_control = space;
        message.msg_controllen = sizeof space;
        if (recvmsg(handover_[0], &message, MSG_CMSG_CLOEXEC) != 1) abort();
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
        return fd;
    }
    void reply(char what) const {
        if (write(replies_[1], &what, 1) != 1) abort();
    }

    std::uint8_t* memory_;
    std::uint8_t* far_;
    int commands_[2] = {-1, -1};
    int replies_[2] = {-1, -1};
    int handover_[2] = {-1, -1};
    pid_t pid_ = -1;
    int mem_fd_ = -1;
    bool dead_ = false;
};

}  // namespace vroce::nic
