// A whole NIC in this process but for its ports: endpoint, sessions, device and engine, with a worker and a control
// thread as in production. What the engine sends comes back to it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/packet/slab_pool.hpp"
#include "nic/host/endpoint.hpp"
#include "nic/transport/engine.hpp"

namespace vroce::test {

/// Answers from a table, later if told to, and never for what it does not know.
class TableResolver final : public nic::Resolver {
public:
    void resolve(const nic::ResolveRequest& request, Answer answer) override;
    /// Control thread (NicBench::on_control): answers what waits.
    void answer_all(int error, nic::MacAddress mac);
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

private:
    std::vector<Answer> waiting_;
};

class NicBench {
public:
    NicBench();
    ~NicBench();
    NicBench(const NicBench&) = delete;
    NicBench& operator=(const NicBench&) = delete;

    [[nodiscard]] std::string session_path() const { return directory_ + "/session.sock"; }
    [[nodiscard]] const std::string& directory() const { return directory_; }
    [[nodiscard]] static nic::EndpointConfig config(const std::string& directory);
    [[nodiscard]] nic::NicServices services();

    void on_control(const std::function<void()>& call);
    void on_worker(const std::function<void()>& call);
    [[nodiscard]] nic::Endpoint& endpoint() { return *endpoint_; }
    [[nodiscard]] TableResolver& resolver() { return resolver_; }
    /// The worker says that it sleeps; it does not.
    void pretend_to_sleep(bool sleeping) { status_page_->set_sleeping(0, sleeping); }
    [[nodiscard]] nic::DoorbellSet& doorbells() { return doorbells_; }
    /// Ends the endpoint as a process would that exits.
    void end_endpoint();

    [[nodiscard]] std::size_t qp_count();
    [[nodiscard]] std::size_t mr_count();
    [[nodiscard]] std::size_t context_count();
    [[nodiscard]] std::size_t session_count();
    /// Of show()'s counters.
    [[nodiscard]] std::uint64_t counter(const std::string& name);
    [[nodiscard]] std::vector<std::string> log();
    [[nodiscard]] static const nic::Gid& address();  ///< index 1 of the GID table

private:
    void work();
    void control();
    void iterate();

    std::string directory_;
    SlabPool pool_{4'096};
    nic::Engine engine_;
    std::unique_ptr<nic::StatusPage> status_page_;
    nic::LocalAddresses local_addresses_;
    TableResolver resolver_;
    int doorbell_fd_;
    nic::DoorbellSet doorbells_;
    std::vector<std::string> log_;
    std::atomic<bool> stop_{false};
    std::atomic<int> callers_{0};
    std::mutex worker_mutex_;
    std::mutex control_mutex_;
    std::unique_ptr<nic::Endpoint> endpoint_;
    std::thread worker_;
    std::thread control_;
};

/// True when the condition holds within the limit.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::milliseconds(5'000));

}  // namespace vroce::test
