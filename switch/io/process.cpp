// Start and end in order: directory, configuration, memory, ports, core, worker, control; and back.
#include "switch/io/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <random>

#include "common/control/control_server.hpp"
#include "common/dpdk/eal.hpp"
#include "common/dpdk/telemetry.hpp"
#include "switch/config/loader.hpp"
#include "switch/io/buffer_plan.hpp"
#include "switch/io/commands.hpp"
#include "switch/io/control_thread.hpp"
#include "switch/io/io_port.hpp"
#include "switch/io/memory_plan.hpp"
#include "switch/io/run_directory.hpp"
#include "switch/io/unprotected_roce.hpp"
#include "switch/io/worker.hpp"

namespace vroce::sw {
namespace {

void note(const std::string& line) {
    fmt::print(stderr, "vroce-switch: {}\n", line);
}

std::size_t ports_with_device(const LoadedConfig& config) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < config.devices.size(); ++i) {
        count += config.devices[i].devargs.empty() || !config.core->ports[i].admin_up ? 0 : 1;
    }
    return count;
}

/// The queues may not hold more packets than the pool was planned for.
void limit_queues(LoadedConfig& config, const MemoryPlan& plan) {
    auto limited = std::make_shared<SwitchConfig>(*config.core);
    for (PortConfig& port : limited->ports) {
        port.egress_limit_packets = std::min(port.egress_limit_packets, plan.queue_packets);
    }
    config.core = limited;
}

/// What the file's buffers are for these ports.
Status plan_ports(LoadedConfig& config, const std::string& file) {
    auto planned = std::make_shared<SwitchConfig>(*config.core);
    const Result<std::vector<std::string>> raised = plan_port_buffers(*planned);
    if (!raised) return Error{fmt::format("{}: {}", file, raised.error())};
    for (const std::string& line : *raised) note(line);
    config.core = planned;
    return Done{};
}

/// EAL for the life of this object.
class Eal {
public:
    static Status start(const Options& options, const MemoryPlan& plan, const RunDirectory& directory) {
        EalOptions eal;
        eal.name = options.name;
        eal.run_dir = directory.path();
        eal.cpu = options.cpu ? static_cast<int>(*options.cpu) : -1;
        eal.memory_mib = plan.memory_mib;
        eal.no_huge = options.no_huge;
        return start_eal(eal);
    }
    Eal() = default;
    ~Eal() { stop_eal(); }
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;
};

/// DPDK's telemetry thread lives longer than the switch: the gate closes between them.
class TelemetryGate {
public:
    using Reader = Result<nlohmann::json> (Commands::*)();

    explicit TelemetryGate(Commands& commands) : state_(std::make_shared<State>()) { state_->commands = &commands; }
    ~TelemetryGate() {
        const std::lock_guard<std::mutex> lock(state_->mutex);
        state_->commands = nullptr;
    }
    TelemetryGate(const TelemetryGate&) = delete;
    TelemetryGate& operator=(const TelemetryGate&) = delete;

    Status add(const char* path, const char* help, Reader reader) {
        return add_telemetry(path, help, [state = state_, reader] { return ask(*state, reader); });
    }
    Status add_all() {
        for (const Status& status :
             {add("/vroce/counters", "All counters of the switch. No parameters.", &Commands::counters),
              add("/vroce/fdb", "Stations that the switch has learnt. No parameters.", &Commands::fdb_telemetry),
              add("/vroce/ports", "Ports with their links and speeds. No parameters.", &Commands::ports_telemetry)}) {
            if (!status) return status;
        }
        return Done{};
    }

private:
    struct State {
        std::mutex mutex;
        Commands* commands = nullptr;
    };
    static nlohmann::json ask(State& state, Reader reader) {
        const std::lock_guard<std::mutex> lock(state.mutex);
        if (state.commands == nullptr) return {{"error", "the switch is stopping"}};
        const Result<nlohmann::json> answer = (state.commands->*reader)();
        return answer ? *answer : nlohmann::json{{"error", answer.error()}};
    }

    std::shared_ptr<State> state_;
};

/// Reads what the ports counted, and says what ought to be known.
class RoceWatch {
public:
    RoceWatch(const IoPorts& ports, const Switch& core, Mailbox& mailbox)
        : ports_(ports), core_(core), mailbox_(mailbox), notices_(ports.ports.size()), counted_(ports.ports.size()) {}

    void look() {
        const bool ran = mailbox_.call([this] {
            for (std::size_t i = 0; i < counted_.size(); ++i)
                counted_[i] = UnprotectedRoce(core_.counters(ports_.ports[i]->id));
        });
        if (!ran) return;
        for (std::size_t i = 0; i < counted_.size(); ++i) {
            const std::string line =
                notices_[i].look(std::chrono::steady_clock::now(), ports_.ports[i]->name, counted_[i]);
            if (!line.empty()) note(line);
        }
    }

private:
    const IoPorts& ports_;
    const Switch& core_;
    Mailbox& mailbox_;
    std::vector<UnprotectedRoceNotice> notices_;
    std::vector<UnprotectedRoce> counted_;
};

/// Everything with packets in it; EAL runs.
Status run_switch(const Options& options, const LoadedConfig& config, const MemoryPlan& plan,
                  const RunDirectory& directory) {
    Result<std::unique_ptr<MbufPool>> pool = MbufPool::create(options.name, plan.packets, plan.frame_bytes);
    if (!pool) return Error{pool.error()};
    Result<IoPorts> ports = open_ports(config, options.config, directory, **pool);
    if (!ports) return Error{ports.error()};
    for (const std::string& line : ports->notes) note(line);

    Switch core(config.core, std::random_device{}());
    for (const auto& port : ports->ports) core.attach(port->id, *port->device, **pool);
    Mailbox mailbox;
    Worker worker(core, *ports, **pool, mailbox, options.busy ? PollMode::Busy : PollMode::Adaptive, options.rx_hold);
    Commands commands(options.name, config, core, *ports, worker, **pool, mailbox);
    TelemetryGate telemetry(commands);
    if (Status status = telemetry.add_all(); !status) return status;
    Result<std::unique_ptr<ControlServer>> server = ControlServer::listen(directory.file("control.sock"));
    if (!server) return Error{server.error()};
    commands.register_at(**server);

    RoceWatch watch(*ports, core, mailbox);
    const ControlThread control(**server, *ports, worker, mailbox, [&watch] { watch.look(); });
    worker.run();
    mailbox.stop();
    return Done{};
}

}  // namespace

Status run_process(const Options& options) {
    block_signals();
    Result<LoadedConfig> config = load_config(options.config);
    if (!config) return Error{config.error()};
    for (const std::string& warning : config->warnings) note(warning);
    if (Status planned = plan_ports(*config, options.config); !planned) return planned;
    const Result<RunDirectory> directory = RunDirectory::take(options.run_dir, options.name);
    if (!directory) return Error{directory.error()};
    const Result<MemoryPlan> plan = plan_memory(*config->core, ports_with_device(*config), options.memory_mib);
    if (!plan) return Error{plan.error()};
    if (plan->packets < plan->buffered_packets) {
        note(fmt::format(
            "buffers: the pool has {} packets, while {} of the smallest frames fit into the buffers' bytes; "
            "with so many of them ports are not read for a while (rx_hold_ns); --memory-mib gives more",
            plan->packets, plan->buffered_packets));
    }
    limit_queues(*config, *plan);
    if (Status started = Eal::start(options, *plan, *directory); !started) return started;
    const Eal eal;
    return run_switch(options, *config, *plan, *directory);
}

}  // namespace vroce::sw
