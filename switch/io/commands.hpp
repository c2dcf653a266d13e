// What the switch answers on its control socket and over telemetry. Runs on the control thread, or on DPDK's telemetry
// thread for reading; the worker is only reached through its mailbox.
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/result.hpp"
#include "common/control/control_server.hpp"
#include "common/dpdk/capture.hpp"
#include "common/dpdk/mailbox.hpp"
#include "switch/io/snapshot.hpp"
#include "switch/io/worker.hpp"

namespace vroce::sw {

class Commands {
public:
    using Json = nlohmann::json;

    Commands(std::string name, const LoadedConfig& config, Switch& core, IoPorts& ports, Worker& worker, MbufPool& pool,
             Mailbox& mailbox);

    void register_at(ControlServer& server);

    Result<Json> status();
    Result<Json> counters();
    Result<Json> fdb();
    Result<Json> fdb_telemetry();
    Result<Json> ports_telemetry();
    Result<Json> fault_set(const Json& args);
    Result<Json> fault_clear(const Json& args);
    Result<Json> fault_show();
    Result<Json> buffer_holders();
    Result<Json> dcb_set(const Json& args);
    Result<Json> dcb_show(const Json& args);
    Result<Json> capture_start(const Json& args);
    Result<Json> capture_stop();

private:
    Result<Snapshot> snapshot(bool with_stations);
    Result<IoPort*> port_of(const Json& args) const;
    Result<Json> apply_fault(IoPort& port, const FaultRequest& request);
    bool on_worker(const std::function<void()>& function) { return mailbox_.call(function); }

    const std::string name_;
    const LoadedConfig& config_;
    Switch& core_;
    IoPorts& ports_;
    Worker& worker_;
    MbufPool& pool_;
    Mailbox& mailbox_;
    ConfigSnapshot current_;  // what the worker has; control thread only, as all below
    std::unique_ptr<Capture> capture_;
    std::string capture_file_;
};

}  // namespace vroce::sw
