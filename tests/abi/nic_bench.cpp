#include "tests/abi/nic_bench.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "nic/device/device.hpp"

namespace vroce::test {
namespace {

Instant steady_now() {
    return {std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
                .count() *
            1'000};
}

std::string fresh_directory() {
    std::string path = (std::filesystem::temp_directory_path() / "vroce-abi-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) std::abort();
    std::filesystem::permissions(path, std::filesystem::perms(0755));
    return path;
}

}  // namespace

void TableResolver::resolve(const nic::ResolveRequest&, Answer answer) {
    waiting_.push_back(std::move(answer));
}

void TableResolver::answer_all(int error, nic::MacAddress mac) {
    for (const Answer& answer : std::exchange(waiting_, {})) answer(error, mac);
}

const nic::Gid& NicBench::address() {
    static const nic::Gid gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1}};
    return gid;
}

nic::EndpointConfig NicBench::config(const std::string& directory) {
    return {.name = "vm1",
            .directory = directory,
            .device = "vroce0",
            .number = 0,
            .interface = "eth0",
            .mac = {{2, 0, 0, 0, 0, 1}},
            .vlan = 0,
            .vendor_id = 0x1234,
            .vendor_part_id = 7,
            .speed_bps = 10'000'000'000,
            .mtu = 4'200};
}

nic::NicServices NicBench::services() {
    return {.engine = engine_,
            .status_page = *status_page_,
            .local_addresses = local_addresses_,
            .resolver = resolver_,
            .doorbell_fd = doorbell_fd_,
            .worker = 0,
            .run_on_worker = [this](const std::function<void()>& call) { on_worker(call); },
            .now = steady_now,
            .log = [this](const std::string& line) { log_.push_back(line); },
            .counters = {},
            .doorbells = &doorbells_};
}

NicBench::NicBench()
    : directory_(fresh_directory()), engine_({}, pool_), doorbell_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    auto page = nic::StatusPage::create(1);
    if (!page) std::abort();
    status_page_ = std::move(*page);
    auto endpoint = nic::Endpoint::create(config(directory_), services());
    if (!endpoint) std::abort();
    endpoint_ = std::move(*endpoint);
    endpoint_->set_addresses({address()});
    endpoint_->set_link(true, 4'200);
    worker_ = std::thread([this] { work(); });
    control_ = std::thread([this] { control(); });
}

NicBench::~NicBench() {
    end_endpoint();
    stop_ = true;
    worker_.join();
    control_.join();
    close(doorbell_fd_);
    std::filesystem::remove_all(directory_);
}

void NicBench::end_endpoint() {
    on_control([this] { endpoint_.reset(); });
}

void NicBench::on_worker(const std::function<void()>& call) {
    ++callers_;
    {
        const std::lock_guard lock(worker_mutex_);
        call();
    }
    --callers_;
}

void NicBench::on_control(const std::function<void()>& call) {
    const std::lock_guard lock(control_mutex_);
    call();
}

// Between two iterations whoever waits gets its turn.
void NicBench::work() {
    while (!stop_) {
        {
            const std::lock_guard lock(worker_mutex_);
            iterate();
        }
        std::this_thread::sleep_for(std::chrono::microseconds(callers_ > 0 ? 200 : 50));
    }
}

void NicBench::iterate() {
    if (endpoint_ == nullptr) return;
    const Instant now = steady_now();
    nic::Device& device = endpoint_->device();
    device.set_time(now);
    device.scan_doorbells(now);
    device.collect_copies(now);
    engine_.on_timeout(now);
    std::array<Packet*, 64> burst{};
    for (int round = 0; round < 8; ++round) {
        const std::size_t count = engine_.transmit(now, burst);
        for (std::size_t i = 0; i < count; ++i) burst[i]->meta.l3_offset = 14;
        engine_.receive(now, std::span(burst).first(count));
        if (count == 0) return;
    }
}

void NicBench::control() {
    while (!stop_) {
        int fd = -1;
        on_control([&] { fd = endpoint_ ? endpoint_->fd() : -1; });
        pollfd wait{fd, POLLIN, 0};
        poll(&wait, 1, 5);
        on_control([this] {
            if (endpoint_) endpoint_->serve();
        });
        std::this_thread::yield();
    }
}

std::size_t NicBench::qp_count() {
    std::size_t count = 0;
    on_worker([&] { count = endpoint_->device().qp_count(); });
    return count;
}

std::size_t NicBench::mr_count() {
    std::size_t count = 0;
    on_worker([&] { count = endpoint_->device().mr_count(); });
    return count;
}

std::size_t NicBench::context_count() {
    std::size_t count = 0;
    on_worker([&] { count = endpoint_->device().context_count(); });
    return count;
}

std::size_t NicBench::session_count() {
    std::size_t count = 0;
    on_control([&] { count = endpoint_->show()["sessions"].size(); });
    return count;
}

std::uint64_t NicBench::counter(const std::string& name) {
    std::uint64_t value = 0;
    on_control([&] { value = endpoint_->show()["counters"].at(name).get<std::uint64_t>(); });
    return value;
}

std::vector<std::string> NicBench::log() {
    std::vector<std::string> lines;
    on_control([&] { lines = log_; });
    return lines;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace vroce::test
