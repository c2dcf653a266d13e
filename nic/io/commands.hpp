// What the NIC answers on its control socket and over telemetry. Runs on the control thread; the worker is reached
// through its mailbox.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/control/control_server.hpp"
#include "common/dpdk/capture.hpp"
#include "common/dpdk/mailbox.hpp"
#include "nic/control/options.hpp"
#include "nic/host/endpoint.hpp"
#include "nic/io/snapshot.hpp"

namespace vroce::nic {

class Commands {
public:
    using Json = nlohmann::json;
    using Endpoints = std::vector<std::unique_ptr<Endpoint>>;

    Commands(const NicOptions& options, const Endpoints& endpoints, Worker& worker, Mailbox& mailbox,
             const MbufPool& pool);
    ~Commands();
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;

    void register_at(ControlServer& server);

    Result<Json> status();
    Result<Json> counters();
    Result<Json> endpoints();
    Result<Json> qps();
    Result<Json> mrs();

private:
    Result<Json> fault_set(const Json& args);
    Result<Json> fault_clear(const Json& args);
    Result<Json> fault_show();
    Result<Json> dcb_set(const Json& args);
    Result<Json> dcb_show(const Json& args);
    Result<Json> capture_start(const Json& args);
    /// From the ports that it sees; the file stays open.
    void detach_capture();
    Result<Json> capture_stop();

    Result<Snapshot> snapshot();
    Result<std::string> port_in(const Json& args) const;
    Status only_uplink_pfc(const Json& args) const;
    Result<Json> apply_fault(const std::string& port, const FaultRequest& request);
    Result<Json> join(Json (Endpoint::*show)() const) const;
    [[nodiscard]] std::string port_names() const;

    const NicOptions& options_;
    const Endpoints& endpoints_;
    Worker& worker_;
    Mailbox& mailbox_;
    const MbufPool& pool_;
    std::uint8_t pfc_priorities_;  ///< of the uplink, as the worker has them
    std::unique_ptr<Capture> capture_;
    std::string capture_file_;
};

}  // namespace vroce::nic
