// An endpoint: what an application opens. It joins the published tree (sysfs_tree), the sessions of its applications
// (session_server) and its device tables (nic/device), and tells all of them what happens to the port.
//
// Threads: everything here belongs to the control thread, except device(), which is the worker's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "nic/host/arena.hpp"
#include "nic/host/doorbell_set.hpp"
#include "nic/host/local_addresses.hpp"
#include "nic/host/record_socket.hpp"
#include "nic/host/resolver.hpp"
#include "nic/transport/engine.hpp"
#include "nic/wire/address.hpp"

namespace vroce::nic {

class Device;
class SessionServer;
class SysfsTree;
struct SessionHost;

struct EndpointConfig {
    std::string name;          ///< vm1
    std::string directory;     ///< <run-dir>/<host>/<vm>; made if need be, emptied of a dead process's leftovers
    std::string device;        ///< vroce0
    std::uint32_t number = 0;  ///< N of uverbsN
    std::string interface;     ///< eth0
    MacAddress mac;            ///< GUIDs and the link-local GID come from it
    std::uint16_t vlan = 0;    ///< 0: untagged
    std::uint32_t vendor_id = 0;
    std::uint32_t vendor_part_id = 0;
    std::uint64_t speed_bps = 10'000'000'000;
    std::uint32_t mtu = 1'500;  ///< of the IP interface, bytes
};

/// What the endpoints of one NIC process share. All must outlive them.
struct NicServices {
    Engine& engine;
    StatusPage& status_page;
    LocalAddresses& local_addresses;
    Resolver& resolver;
    int doorbell_fd = -1;  ///< the worker's eventfd (non-blocking); applications write 1 to it when the worker sleeps
    std::uint32_t worker = 0;
    /// Runs the function on the worker between two iterations and waits for it (Mailbox::call); when there is no worker
    /// any more, here.
    std::function<void(const std::function<void()>&)> run_on_worker;
    std::function<Instant()> now;
    /// Log line; without newline.
    std::function<void(const std::string&)> log;
    /// Values of counters/ and hw_counters/ by name, asked at most once a second while somebody has the device open.
    /// Names that the tree does not have are ignored. May be empty: then the engine's counters are shown.
    std::function<std::vector<std::pair<std::string, std::uint64_t>>()> counters;
    /// When given, each session gets a doorbell of its own in it instead of doorbell_fd, which then is the NIC's own:
    /// applications that do not trust each other cannot take each other's wake-ups.
    DoorbellSet* doorbells = nullptr;
};

class Endpoint {
public:
    static Result<std::unique_ptr<Endpoint>> create(const EndpointConfig& config, const NicServices& services);
    /// Ends all sessions, frees what they had and removes the tree.
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    /// An epoll descriptor that is readable when serve() has something to do (timers included).
    [[nodiscard]] int fd() const;
    void serve();

    /// Addresses of the IP interface, as they are now. Each has a stable index in the GID table until it goes; index 0
    /// is the link-local address of the MAC. Changes are told to the applications (GID_CHANGE).
    void set_addresses(const std::vector<Gid>& addresses);
    /// Uplink and interface: changes are told to the applications (PORT_ACTIVE, PORT_ERR).
    void set_link(bool up, std::uint32_t mtu);

    [[nodiscard]] const EndpointConfig& config() const { return config_; }
    /// The GIDs in use, for the bridge: RoCE to any of them is the engine's.
    [[nodiscard]] std::vector<Gid> addresses() const;
    /// Worker only: doorbells, deadlines.
    [[nodiscard]] Device& device() { return *device_; }

    // ---- answers to control commands
    [[nodiscard]] nlohmann::json show() const;      ///< one element of `endpoints`
    [[nodiscard]] nlohmann::json show_qps() const;  ///< elements of `qp`
    [[nodiscard]] nlohmann::json show_mrs() const;  ///< elements of `mr`

private:
    Endpoint(const EndpointConfig& config, const NicServices& services);
    Status publish();
    void broadcast(AsyncEventType type);
    void watch_held_events();
    void keep_counters_fresh();
    void write_counters();
    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> counter_values() const;

    EndpointConfig config_;
    NicServices services_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<SessionHost> host_;
    UniqueFd held_fd_;  ///< eventfd: the worker has held an event
    std::unique_ptr<SysfsTree> tree_;
    std::unique_ptr<SessionServer> server_;
    std::uint64_t counter_timer_ = 0;
};

}  // namespace vroce::nic
