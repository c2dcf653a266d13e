// Waiting: until a process answers, until hosts reach each other. Each wait ends by a deadline or Ctrl-C.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "tools/lab/lab.hpp"
#include "tools/lab/netns.hpp"
#include "tools/lab/peer.hpp"

namespace vroce::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kReadyLimit{30};
constexpr std::chrono::seconds kReachLimit{15};
constexpr std::chrono::milliseconds kStep{50};
constexpr std::uint16_t kDiscardPort = 9;

volatile sig_atomic_t g_interrupted = 0;  // written by the signal handler only

enum class Progress { again, reached, failed };

/// Calls `step` until it says otherwise than again, the time is over or Ctrl-C comes. True when reached.
bool wait_until(std::chrono::seconds limit, const std::function<Progress()>& step) {
    const auto deadline = Clock::now() + limit;
    for (;;) {
        const Progress progress = step();
        if (progress != Progress::again) return progress == Progress::reached;
        if (interrupted() || Clock::now() >= deadline) return false;
        std::this_thread::sleep_for(kStep);
    }
}

std::string text_of(const sockaddr* address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, address, sizeof in);
        ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    } else if (address->sa_family == AF_INET6) {
        sockaddr_in6 in{};
        std::memcpy(&in, address, sizeof in);
        ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    }
    return text;
}

/// The interface is up with a carrier and has the address. Asked inside the host's namespace.
bool has_address(const std::string& interface, const std::string& address) {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return false;
    bool found = false;
    for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
        const bool up = (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_RUNNING) != 0;
        if (i->ifa_addr == nullptr || !up || interface != i->ifa_name) continue;
        found = found || text_of(i->ifa_addr) == address;
    }
    ::freeifaddrs(list);
    return found;
}

/// A refused connection is an answer from the other host: no privilege and no service is needed for it.
bool answers(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(kDiscardPort);
    if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return true;  // IPv6: its addresses are enough
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    int error = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        pollfd p{fd, POLLOUT, 0};
        socklen_t length = sizeof error;
        error = ETIMEDOUT;
        if (::poll(&p, 1, 1000) > 0) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    }
    ::close(fd);
    return error == 0 || error == ECONNREFUSED;
}

std::string host_part(const std::string& address) {
    return address.substr(0, address.find('/'));
}

/// The network of an IPv4 address with its prefix length, for comparison; empty for IPv6.
std::string network(const std::string& address) {
    in_addr in{};
    const auto slash = address.find('/');
    if (::inet_pton(AF_INET, host_part(address).c_str(), &in) != 1 || slash == std::string::npos) return {};
    const int bits = std::stoi(address.substr(slash + 1));
    const std::uint32_t mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
    return fmt::format("{:08x}/{}", ntohl(in.s_addr) & mask, bits);
}

Status wait_addresses(const LabPlace& place) {
    for (const std::string& address : place.addresses) {
        const bool there = wait_until(kReachLimit, [&] {
            return ask_in_netns(place.netns, [&] { return has_address(place.interface, host_part(address)); })
                       ? Progress::reached
                       : Progress::again;
        });
        if (!there) {
            return Error{fmt::format("{}: interface {} did not come up with {} within {} s; see the log in {}/../log",
                                     place.host, place.interface, address, kReachLimit.count(), place.path)};
        }
    }
    return Done{};
}

Status wait_pair(const LabPlace& from, const LabPlace& to, const std::string& address) {
    const bool reached = wait_until(kReachLimit, [&] {
        return ask_in_netns(from.netns, [&] { return answers(host_part(address)); }) ? Progress::reached
                                                                                     : Progress::again;
    });
    if (interrupted()) return Error{"interrupted"};
    if (!reached) {
        // Hosts kept apart by VLANs are a lab too; so this is said, and not refused.
        fmt::print(
            "note: {} does not reach {} at {} (VLANs keep them apart, or see the logs below the run directory)\n",
            from.host, to.host, host_part(address));
    }
    return Done{};
}

}  // namespace

bool interrupted() {
    return g_interrupted != 0;
}

void catch_interrupts() {
    struct sigaction action {};
    action.sa_handler = [](int) { g_interrupted = 1; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

Status wait_ready(const std::string& run_dir, const LabProcess& process) {
    const Peer peer{process.name, fmt::format("{}/{}/control.sock", run_dir, process.name)};
    std::string why = fmt::format("did not answer on {} within {} s", peer.socket, kReadyLimit.count());
    const bool ready = wait_until(kReadyLimit, [&] {
        if (ask(peer, "status")) return Progress::reached;
        const auto end = ended(process.id);
        if (!end) return Progress::again;
        why = "ended " + *end;
        return Progress::failed;
    });
    if (ready) return Done{};
    if (interrupted()) return Error{"interrupted"};
    return Error{fmt::format("{} {} {}; its last words:\n{}", process.kind == "nic" ? "vroce-nic" : "vroce-switch",
                             process.name, why, last_lines(process.log, 8))};
}

Status wait_reachable(const LabState& state) {
    std::map<std::string, const LabPlace*>
        first;  // of each network and nothing else: one pair tells, n² would take long
    for (const LabPlace& place : state.places) {
        if (Status s = wait_addresses(place); !s) return interrupted() ? Status(Error{"interrupted"}) : s;
    }
    for (const LabPlace& place : state.places) {
        for (const std::string& address : place.addresses) {
            const std::string net = network(address);
            const auto [known, inserted] = first.emplace(net, &place);
            if (net.empty() || inserted || known->second->host == place.host) continue;
            if (Status s = wait_pair(*known->second, place, address); !s) return s;
        }
    }
    return Done{};
}

}  // namespace vroce::tools
