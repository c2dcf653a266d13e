#include "nic/memory/peer_rights.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>

namespace vroce::nic {

namespace {

/// The credentials that decide, as /proc/PID/status prints them.
struct Credentials {
    std::string uids;
    std::string gids;
    unsigned long long permitted = 0;
    bool known = false;
};

Credentials credentials_of(const std::string& pid) {
    Credentials found;
    std::ifstream status("/proc/" + pid + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Uid:")) found.uids = line;
        if (line.starts_with("Gid:")) found.gids = line;
        if (!line.starts_with("CapPrm:")) continue;
        found.permitted = std::stoull(line.substr(7), nullptr, 16);
        found.known = true;
    }
    return found;
}

bool same_user_namespace(const std::string& pid) {
    std::array<char, 64> mine{};
    std::array<char, 64> theirs{};
    const ssize_t a = readlink("/proc/self/ns/user", mine.data(), mine.size());
    const ssize_t b = readlink(("/proc/" + pid + "/ns/user").c_str(), theirs.data(), theirs.size());
    return a > 0 && a == b && mine == theirs;
}

/// The calling thread's three capability sets.
class CapabilitySets {
public:
    [[nodiscard]] bool load() { return syscall(SYS_capget, &header_, data_.data()) == 0; }
    [[nodiscard]] bool store() { return syscall(SYS_capset, &header_, data_.data()) == 0; }
    [[nodiscard]] bool effective(unsigned capability) const { return (word(capability) & bit(capability)) != 0; }
    void lower(unsigned capability) { data_[capability / 32].effective &= ~bit(capability); }

private:
    [[nodiscard]] std::uint32_t word(unsigned capability) const { return data_[capability / 32].effective; }
    static std::uint32_t bit(unsigned capability) { return 1u << capability % 32; }

    __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data_{};
};

bool lower_ptrace() {
    CapabilitySets sets;
    if (!sets.load()) return false;
    if (!sets.effective(CAP_SYS_PTRACE)) return true;
    sets.lower(CAP_SYS_PTRACE);
    return sets.store();
}

/// Reads address 0 of the process: nobody has it mapped, so that the error says whether we were let in.
bool let_in(pid_t pid) {
    std::uint8_t byte = 0;
    const iovec local{&byte, 1};
    const iovec remote{nullptr, 1};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1 || errno == EFAULT;
}

bool let_in_without_privilege(pid_t pid) {
    CapabilitySets sets;
    if (!sets.load()) return false;
    const bool had = sets.effective(CAP_SYS_PTRACE);
    if (!lower_ptrace()) return false;
    const bool in = let_in(pid);
    if (!had) return in;
    return sets.store() && in;
}

}  // namespace

bool may_use_pid(pid_t pid) {
    const Credentials mine = credentials_of("self");
    const Credentials theirs = credentials_of(std::to_string(pid));
    if (!mine.known || !theirs.known || !same_user_namespace(std::to_string(pid))) return false;
    return mine.uids == theirs.uids && mine.gids == theirs.gids && (mine.permitted & ~theirs.permitted) == 0 &&
           let_in_without_privilege(pid);
}

bool forgo_access_by_privilege() {
    static thread_local const bool forgone = lower_ptrace();
    return forgone;
}

}  // namespace vroce::nic
