#include "common/dpdk/ethdev_port.hpp"

#include <rte_alarm.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>

#include "common/base/fault_guard.hpp"
#include "common/dpdk/quiet_stderr.hpp"

namespace vroce {

namespace {

/// Peers without our doorbell are looked at this often when there is nothing else to do (design D2).
constexpr Duration kForeignPoll = milliseconds(2);
constexpr Duration kRestartInterval = milliseconds(100);
constexpr Duration kHandshakeLimit = seconds(2);

bool has_key(const std::string& devargs, const std::string& key) {
    return devargs.find("," + key + "=") != std::string::npos;
}

std::string value_of(const std::string& devargs, const std::string& key) {
    const std::size_t at = devargs.find("," + key + "=");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + key.size() + 2;
    return devargs.substr(begin, devargs.find(',', begin) - begin);
}

/// One frame, one descriptor: a frame that spans descriptors is mangled or lost when the ring is full (design D2).
std::string with_memif_defaults(std::string devargs, const EthdevPortOptions& options) {
    const auto add = [&](const std::string& key, const std::string& value) {
        if (!has_key(devargs, key)) devargs += "," + key + "=" + value;
    };
    add("bsize", std::to_string((options.max_frame_bytes + 63) / 64 * 64));
    add("rsize", std::to_string(std::bit_width(unsigned{options.descriptors}) - 1));
    add("socket-abstract", "no");
    return devargs;
}

/// A memif socket file that a dead process left would make the server's bind fail.
Status clear_stale_socket(const std::string& path) {
    sockaddr_un address{};
    if (path.size() >= sizeof address.sun_path) return Error{path + ": longer than a socket's path may be"};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const bool alive = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (alive) return Error{path + ": another process listens on this memif socket"};
    unlink(path.c_str());
    return Done{};
}

std::string doorbell_path(const std::string& memif_socket) {
    constexpr std::string_view kSuffix = ".memif";
    std::string path = memif_socket;
    if (path.ends_with(kSuffix)) path.resize(path.size() - kSuffix.size());
    return path + ".doorbell";
}

/// Memif's handlers run on DPDK's interrupt thread without a lock: one that is at work while another thread stops or
/// frees the device follows a dangling pointer. So that is done on the interrupt thread too; waits for it.
void on_interrupt_thread(const std::function<void()>& function) {
    struct Call {
        const std::function<void()>& function;
        std::mutex mutex;
        std::condition_variable ended;
        bool done = false;
    } call{function, {}, {}, false};
    const auto run = [](void* argument) {
        Call& asked = *static_cast<Call*>(argument);
        asked.function();
        const std::lock_guard<std::mutex> lock(asked.mutex);
        asked.done = true;
        asked.ended.notify_one();
    };
    if (rte_eal_alarm_set(1, run, &call) != 0) return function();
    std::unique_lock<std::mutex> lock(call.mutex);
    call.ended.wait(lock, [&call] { return call.done; });
}

}  // namespace

Result<std::unique_ptr<EthdevPort>> EthdevPort::open(const EthdevPortOptions& options, MbufPool& pool) {
    const std::string name = options.devargs.substr(0, options.devargs.find(','));
    const bool is_memif = name.starts_with("net_memif");
    const std::string devargs = is_memif ? with_memif_defaults(options.devargs, options) : options.devargs;
    const bool is_client = value_of(devargs, "role") != "server";
    const std::string socket_path = value_of(devargs, "socket");
    if (is_memif && socket_path.empty()) return Error{options.devargs + ": a memif needs socket=PATH"};
    if (is_memif && !is_client) {
        const Status cleared = clear_stale_socket(socket_path);
        if (!cleared) return Error{cleared.error()};
    }
    QuietStderr quiet;
    const bool probed = rte_dev_probe(devargs.c_str()) == 0;
    quiet.restore();
    if (!probed) return Error{"device '" + devargs + "' cannot be opened: " + quiet.first_line()};
    std::uint16_t port_id = 0;
    if (rte_eth_dev_get_port_by_name(name.c_str(), &port_id) != 0)
        return Error{"device '" + devargs + "' is not an Ethernet port"};
    std::unique_ptr<EthdevPort> port(new EthdevPort(pool, port_id));
    port->is_memif_ = is_memif;
    port->is_client_ = is_client;
    port->keep_device_ = options.keep_device;
    if (is_memif && !is_client) port->server_socket_ = socket_path;
    const Status started = port->start(options);
    if (!started) return Error{"device '" + devargs + "': " + started.error()};
    if (!is_memif) return port;
    auto doorbell =
        Doorbell::create(doorbell_path(socket_path), is_client ? DoorbellRole::Client : DoorbellRole::Server);
    if (!doorbell) return Error{doorbell.error()};
    port->doorbell_ = std::move(*doorbell);
    return port;
}

Status EthdevPort::start(const EthdevPortOptions& options) {
    const auto failed = [](const char* what, int error) {
        return Error{std::string(what) + ": " + rte_strerror(-error)};
    };
    rte_eth_conf conf{};
    int result = rte_eth_dev_configure(port_id_, 1, 1, &conf);
    if (result != 0) return failed("cannot be configured", result);
    std::uint16_t rx_descriptors = options.descriptors;
    std::uint16_t tx_descriptors = options.descriptors;
    rte_eth_dev_adjust_nb_rx_tx_desc(port_id_, &rx_descriptors, &tx_descriptors);
    result = rte_eth_rx_queue_setup(port_id_, 0, rx_descriptors, SOCKET_ID_ANY, nullptr, pool_->mempool());
    if (result != 0) return failed("no receive queue", result);
    result = rte_eth_tx_queue_setup(port_id_, 0, tx_descriptors, SOCKET_ID_ANY, nullptr);
    if (result != 0) return failed("no transmit queue", result);
    result = rte_eth_dev_start(port_id_);
    started_ = result == 0;
    if (result != 0 && !(is_memif_ && is_client_)) return failed("cannot be started", result);
    if (!is_memif_) {
        rte_eth_promiscuous_enable(port_id_);
        link_up_ = true;
    }
    return Done{};
}

EthdevPort::~EthdevPort() {
    if (keep_device_) {
        if (!server_socket_.empty()) unlink(server_socket_.c_str());
        return;
    }
    on_interrupt_thread([this] {
        if (started_) rte_eth_dev_stop(port_id_);
        rte_eth_dev_close(port_id_);
    });
}

Instant EthdevPort::next_poll(Instant now) const {
    if (!doorbell_) return now + kForeignPoll;
    if (!link_up_) return now + kRestartInterval;
    return doorbell_->connected() ? kNever : now + kForeignPoll;
}

bool EthdevPort::update_link(Instant now) {
    if (!is_memif_) return false;
    rte_eth_link link{};
    rte_eth_link_get_nowait(port_id_, &link);
    const bool up = link.link_status != 0;
    const bool changed = up != link_up_;
    link_up_ = up;
    if (next_restart_ == Instant{}) next_restart_ = now + (started_ ? kHandshakeLimit : Duration{});
    if (changed && !up) next_restart_ = now;
    if (!up && is_client_ && now >= next_restart_) {
        // A memif client that lost its server stays down until it is started again.
        ++counters_.restarts;
        on_interrupt_thread([this] {
            if (started_) rte_eth_dev_stop(port_id_);
            started_ = rte_eth_dev_start(port_id_) == 0;
        });
        // One that has reached its server gets time for the handshake: on a busy machine it takes longer than a retry,
        // and a server whose client hangs up before its first message is accepted dies in DPDK's interrupt thread.
        next_restart_ = now + (started_ ? kHandshakeLimit : kRestartInterval);
    }
    return changed;
}

std::size_t EthdevPort::receive(std::span<Packet*> out) {
    if (!link_up_) return 0;
    if (pool_->nearly_empty()) {
        ++counters_.rx_no_buffer;
        return 0;
    }
    const std::uint16_t count = guarded_rx(std::min(out.size(), kBurst));
    for (std::uint16_t i = 0; i < count; ++i) MbufPool::prefetch(burst_[i]);
    std::size_t kept = 0;
    std::uint64_t bytes = 0;
    for (std::uint16_t i = 0; i < count; ++i) {
        if (burst_[i]->nb_segs != 1) {
            ++counters_.rx_multi_segment;
            rte_pktmbuf_free(burst_[i]);
            continue;
        }
        out[kept] = pool_->adopt(burst_[i]);
        bytes += out[kept]->length;
        ++kept;
    }
    counters_.rx_packets += kept;
    counters_.rx_bytes += bytes;
    return kept;
}

std::size_t EthdevPort::send(std::span<Packet* const> packets) {
    if (!link_up_) return 0;
    std::size_t sent = 0;
    while (sent < packets.size()) {
        const std::size_t count = std::min(packets.size() - sent, kBurst);
        for (std::size_t i = 0; i < count; ++i) burst_[i] = MbufPool::prepare(packets[sent + i]);
        const std::size_t took = guarded_tx(static_cast<std::uint16_t>(count));
        sent += took;
        if (took < count) break;
    }
    return sent;
}

std::uint16_t EthdevPort::guarded_rx(std::size_t room) {
    const auto burst = [&] { return rte_eth_rx_burst(port_id_, 0, burst_.data(), static_cast<std::uint16_t>(room)); };
    if (!is_memif_) return burst();
    std::uint16_t count = 0;
    if (guard_faults([&] { count = burst(); })) return count;
    ++counters_.peer_lost_in_burst;
    link_up_ = false;
    return 0;
}

std::uint16_t EthdevPort::guarded_tx(std::uint16_t count) {
    const auto burst = [&] { return rte_eth_tx_burst(port_id_, 0, burst_.data(), count); };
    if (!is_memif_) return burst();
    std::uint16_t took = 0;
    if (guard_faults([&] { took = burst(); })) return took;
    ++counters_.peer_lost_in_burst;
    link_up_ = false;
    // Which of them the device had freed is not known: all count as gone with the peer (at most one burst).
    return count;
}

}  // namespace vroce
