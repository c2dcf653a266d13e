// The thread beside the worker: endpoints with their sessions, control socket, the kernel's notifications, doorbells,
// signals. It may block and allocate; the worker may not.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "common/base/result.hpp"
#include "common/control/control_server.hpp"
#include "common/dpdk/mailbox.hpp"
#include "nic/control/options.hpp"
#include "nic/host/endpoint.hpp"
#include "nic/host/reactor.hpp"
#include "nic/io/commands.hpp"
#include "nic/io/netlink/address_watcher.hpp"
#include "nic/io/netlink/neighbour_resolver.hpp"
#include "nic/io/worker.hpp"

namespace vroce::nic {

/// SIGTERM, SIGINT and SIGHUP are blocked in this thread and all that it starts from now on; the control thread takes
/// them. Call it first of all.
void block_signals();

/// All of it outlives the control thread.
struct ControlParts {
    const NicOptions& options;
    std::string directory;  ///< RUN-DIR/NAME
    Worker& worker;
    Mailbox& mailbox;
    EthdevPort& uplink;
    Engine& engine;
    StatusPage& status_page;
    const MbufPool& pool;
    AddressWatcher& watcher;
    NeighbourResolver& resolver;
    DoorbellSet& doorbells;
    int doorbell_fd = -1;  ///< the NIC's own among them
    int link_event_fd = -1;
};

class ControlThread {
public:
    explicit ControlThread(const ControlParts& parts);
    ~ControlThread();
    ControlThread(const ControlThread&) = delete;
    ControlThread& operator=(const ControlThread&) = delete;

    /// Starts the thread. It ends, and the worker with it, by a signal or when something cannot be set up.
    void start();
    /// Waits for its end; the error is what could not be set up.
    Status join();

    /// Telemetry's thread: runs the function on this thread and waits. False when it has ended.
    bool call(const std::function<void()>& function) { return requests_->call(function); }

private:
    void run();
    Status set_up();
    Status create_endpoint(std::size_t index);
    Status listen();
    Status add_telemetry_commands();
    void watch_descriptors();
    void loop();
    void tear_down();
    void tick();
    void take_signal();
    void take_link_change();
    void refresh_addresses();
    void take_interface_state(std::size_t endpoint, const InterfaceState& state);
    void tell_link(std::size_t endpoint);
    [[nodiscard]] EndpointConfig endpoint_config(std::size_t index) const;
    [[nodiscard]] NicServices services();
    [[nodiscard]] Instant now() const { return parts_.worker.now(); }

    ControlParts parts_;
    LocalAddresses local_addresses_;
    std::vector<InterfaceState> interfaces_;
    Commands::Endpoints endpoints_;
    Commands commands_;
    Reactor reactor_;
    std::unique_ptr<ControlServer> server_;
    /// Calls from telemetry's thread, which DPDK never joins: it may ask when everything else is gone.
    std::shared_ptr<Mailbox> requests_ = std::make_shared<Mailbox>();
    int signal_fd_;
    bool link_up_ = false;
    bool running_ = true;
    Reactor::Token tick_timer_ = 0;
    Status result_ = Done{};
    std::thread thread_;
};

}  // namespace vroce::nic
