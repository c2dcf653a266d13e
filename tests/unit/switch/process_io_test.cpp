// Frames through a real vroce-switch: this program plugs into two of its memif ports, sends, receives, and asks the
// control socket; kills the switch and starts it again.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "common/control/control_client.hpp"
#include "common/dpdk/clock.hpp"
#include "common/dpdk/eal.hpp"
#include "common/dpdk/ethdev_port.hpp"
#include "common/dpdk/mbuf_pool.hpp"
#include "tests/unit/switch/frames.hpp"
#include "tests/unit/switch/switch_process.hpp"

namespace vroce::sw {
namespace {

using namespace test;
using nlohmann::json;

constexpr const char* kConfig = R"({
    "PORT": {"Ethernet0": {"speed": "10000", "mtu": "9100", "admin_status": "up"},
             "Ethernet4": {"speed": "10000", "mtu": "9100", "admin_status": "up"},
             "Ethernet8": {"speed": "10000", "mtu": "9100", "admin_status": "up"}},
    "VROCE_PORT": {"Ethernet0": {"devargs": "memif"}, "Ethernet4": {"devargs": "memif"}}})";

/// One DPDK environment for the program: it cannot be started twice.
class Environment final : public ::testing::Environment {
public:
    void SetUp() override {
        EalOptions options;
        options.name = "switch-test";
        options.run_dir = directory.path();
        options.memory_mib = 64;
        options.no_huge = true;
        const Status started = start_eal(options);
        ASSERT_TRUE(started) << started.error();
        auto made = MbufPool::create("switch-test", 2'048, 9'216);
        ASSERT_TRUE(made) << made.error();
        pool = std::move(*made);
    }
    void TearDown() override {
        pool.reset();
        stop_eal();
    }

    TemporaryDirectory directory;
    std::unique_ptr<MbufPool> pool;
};
auto* const kEnvironment = static_cast<Environment*>(::testing::AddGlobalTestEnvironment(new Environment));

class ProcessIo : public ::testing::Test {
protected:
    void SetUp() override {
        config_ = directory_.write("sw.json", kConfig);
        start();
        for (std::size_t i = 0; i < ports_.size(); ++i) {
            EthdevPortOptions options;
            options.devargs = "net_memif" + std::to_string(next_device_++) +
                              ",role=client,socket=" + directory_.path() + "/sw1/Ethernet" + std::to_string(i * 4) +
                              ".memif";
            auto port = EthdevPort::open(options, *kEnvironment->pool);
            ASSERT_TRUE(port) << port.error();
            ports_[i] = std::move(*port);
        }
        ASSERT_TRUE(await_links()) << switch_->errors();
    }
    void start() {
        switch_ = std::make_unique<SwitchProcess>(std::vector<std::string>{
            "--name", "sw1", "--config", config_, "--run-dir", directory_.path(), "--no-huge"});
        ASSERT_TRUE(switch_->await_ready(control())) << switch_->errors();
    }
    std::string control() const { return directory_.path() + "/sw1/control.sock"; }

    bool await(const std::function<bool()>& condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            poll();
        }
        return true;
    }
    bool await_links() {
        return await([this] {
            if (!ports_[0]->link_up() || !ports_[1]->link_up()) return false;
            const json status = ask(control(), "status");
            return status["ports"][0]["link_up"] == true && status["ports"][1]["link_up"] == true;
        });
    }
    /// Takes what has come, as bytes.
    void poll() {
        for (std::size_t i = 0; i < ports_.size(); ++i) {
            ports_[i]->doorbell()->serve();
            ports_[i]->update_link(clock_.now());
            std::array<Packet*, 32> packets;
            const std::size_t count = ports_[i]->receive(packets);
            for (std::size_t n = 0; n < count; ++n) {
                received_[i].push_back(bytes_of(*packets[n]));
                release(packets[n]);
            }
        }
    }
    void send(std::size_t port, const FrameSpec& spec) {
        Packet* packet = packet_of(*kEnvironment->pool, bytes_of(spec));
        ASSERT_TRUE(await([&] { return ports_[port]->send({&packet, 1}) == 1; }));
        ports_[port]->ring_doorbell();
    }
    json counters(const std::string& port) { return ask(control(), "counters")["ports"][port]; }

    TemporaryDirectory directory_;
    std::string config_;
    std::unique_ptr<SwitchProcess> switch_;
    std::array<std::unique_ptr<EthdevPort>, 2> ports_;
    std::array<std::vector<std::vector<std::uint8_t>>, 2> received_;
    TscClock clock_;
    static inline int next_device_ = 0;
};

TEST_F(ProcessIo, CarriesFramesAndCountsThem) {
    for (std::size_t i = 0; i < 500; ++i) {
        send(0, {.destination = kStationB, .source = kStationA, .payload = 46 + i * 18});
        send(1, {.destination = kStationA, .source = kStationB, .payload = 46 + i * 18});
    }
    ASSERT_TRUE(await([this] { return received_[0].size() == 500 && received_[1].size() == 500; }));
    for (std::size_t i = 0; i < 500; ++i) {
        EXPECT_EQ(received_[1][i], bytes_of(FrameSpec{.payload = 46 + i * 18}));
    }
    const json counts = counters("Ethernet0");
    EXPECT_EQ(counts["rx"]["packets"], 500);
    EXPECT_EQ(counts["tx"]["sent_packets"], 500);
    EXPECT_EQ(counts["tx"]["unicast"], 500);
    for (const auto& [reason, count] : counts["drop"].items()) EXPECT_EQ(count, 0) << reason;
    const json fdb = ask(control(), "fdb");
    ASSERT_EQ(fdb.size(), 2u);
    for (const json& entry : fdb) {
        const bool first = entry["mac"] == "02:00:00:00:00:0a";
        EXPECT_EQ(entry["port"], first ? "Ethernet0" : "Ethernet4");
        EXPECT_EQ(entry["vlan"], 1);
    }
}

json telemetry(const std::string& run_dir, const std::string& command) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = run_dir + "/sw1/dpdk/sw1/dpdk_telemetry.v2";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    std::string answer(65'536, '\0');
    ssize_t size = -1;
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        recv(fd, answer.data(), answer.size(), 0) > 0 &&  // its greeting
        ::send(fd, command.data(), command.size(), 0) > 0) {
        size = recv(fd, answer.data(), answer.size(), 0);
    }
    close(fd);
    return json::parse(answer.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0))), nullptr, false);
}

TEST_F(ProcessIo, AnswersTelemetry) {
    send(0, {});
    ASSERT_TRUE(await([this] { return received_[1].size() == 1; }));
    const json counts = telemetry(directory_.path(), "/vroce/counters");
    EXPECT_EQ(counts["/vroce/counters"]["ports"]["Ethernet0"]["rx"]["packets"], 1);
    const json fdb = telemetry(directory_.path(), "/vroce/fdb");
    EXPECT_EQ(fdb["/vroce/fdb"]["station_0"]["mac"], "02:00:00:00:00:0a");
    EXPECT_EQ(fdb["/vroce/fdb"]["station_0"]["port"], "Ethernet0");
    EXPECT_EQ(telemetry(directory_.path(), "/vroce/ports")["/vroce/ports"]["Ethernet4"]["link_up"], "true");
}

TEST_F(ProcessIo, DamagesAPortsTrafficWhenTold) {
    ask(control(), "fault.set", {{"dev", "Ethernet0"}, {"drop", 1.0}, {"direction", "rx"}});
    EXPECT_EQ(ask(control(), "fault.show")["Ethernet0"]["drop"], 1.0);
    for (int i = 0; i < 20; ++i) send(0, {});
    ASSERT_TRUE(await([this] { return counters("Ethernet0")["fault"]["rx"]["dropped"] == 20; }));
    ask(control(), "fault.set", {{"dev", "Ethernet4"}, {"duplicate", 1.0}, {"direction", "tx"}});
    ask(control(), "fault.clear", {{"dev", "Ethernet0"}});
    EXPECT_EQ(ask(control(), "fault.show").size(), 1u);
    for (int i = 0; i < 20; ++i) send(0, {});
    ASSERT_TRUE(await([this] { return received_[1].size() == 40; }));
    EXPECT_EQ(counters("Ethernet4")["fault"]["tx"]["duplicated"], 20);
    ask(control(), "fault.set", {{"dev", "Ethernet4"}, {"delay_ns", 50'000'000}, {"direction", "both"}});
    const auto before = std::chrono::steady_clock::now();
    send(0, {});
    ASSERT_TRUE(await([this] { return received_[1].size() == 41; }));
    EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(49)) << "a lower bound never flakes";
}

TEST_F(ProcessIo, WritesACaptureOfBothDirections) {
    const std::string file = directory_.path() + "/all.pcap";
    ask(control(), "capture.start", {{"file", file}});
    EXPECT_FALSE(control_call(control(), "capture.start", {{"file", file}}));
    for (int i = 0; i < 10; ++i) send(0, {.destination = kBroadcast});
    ASSERT_TRUE(await([this] { return received_[1].size() == 10; }));
    EXPECT_EQ(ask(control(), "capture.stop")["missed"], 0);
    EXPECT_FALSE(control_call(control(), "capture.stop"));
    EXPECT_EQ(std::filesystem::file_size(file), 24u + 20u * (16u + 60u)) << "10 frames in, 10 frames out";
}

TEST_F(ProcessIo, RefusesHostileRequestsInOneLine) {
    const auto refusal = [this](const std::string& command, const json& args) {
        const auto answer = control_call(control(), command, args);
        return answer ? "accepted" : answer.error();
    };
    EXPECT_NE(refusal("fault.set", {{"dev", "Ethernet1"}}).find("allowed: Ethernet0, Ethernet4"), std::string::npos);
    EXPECT_NE(refusal("fault.set", {{"dev", "Ethernet8"}}).find("allowed: Ethernet0, Ethernet4"), std::string::npos);
    EXPECT_NE(refusal("fault.set", {{"dev", 7}}).find("\"dev\" is missing"), std::string::npos);
    EXPECT_NE(refusal("fault.set", json::array()).find("\"dev\" is missing"), std::string::npos);
    EXPECT_NE(refusal("fault.set", {{"dev", "Ethernet0"}, {"drop", 2}}), "accepted");
    EXPECT_NE(refusal("fault.clear", {{"dev", "Ethernet0"}, {"drop", 1}}).find("unknown argument \"drop\""),
              std::string::npos);
    EXPECT_NE(refusal("counters", {{"x", 1}}).find("unknown argument \"x\""), std::string::npos);
    EXPECT_NE(refusal("capture.start", {{"file", "relative.pcap"}}).find("an absolute path"), std::string::npos);
    EXPECT_NE(refusal("capture.start", {{"file", "/nonexistent/x.pcap"}}).find("cannot be written"), std::string::npos);
    EXPECT_NE(refusal("reboot", json::object()), "accepted");
    EXPECT_EQ(ask(control(), "status")["kind"], "switch") << "it still answers";
}

TEST_F(ProcessIo, IsReplacedAfterKillAndItsPeersComeBack) {
    send(0, {});
    ASSERT_TRUE(await([this] { return received_[1].size() == 1; }));
    switch_->signal(SIGKILL);
    EXPECT_EQ(switch_->wait(), 128 + SIGKILL);
    ASSERT_TRUE(await([this] { return !ports_[0]->link_up() && !ports_[1]->link_up(); }));
    start();
    ASSERT_TRUE(await_links()) << switch_->errors();
    send(0, {});
    ASSERT_TRUE(await([this] { return received_[1].size() == 2; }));
}

/// DPDK's memif server dies of this without our guard.
TEST_F(ProcessIo, OutlivesPeersThatHangUpAtOnce) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = directory_.path() + "/sw1/Ethernet0.memif";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    for (int i = 0; i < 1'000; ++i) {
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << i;
        close(fd);
    }
    send(0, {});
    ASSERT_TRUE(await([this] { return received_[1].size() == 1; }));
}

TEST_F(ProcessIo, LeavesNothingBehindOnSigterm) {
    switch_->signal(SIGTERM);
    EXPECT_EQ(switch_->wait(), 0) << switch_->errors();
    EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/sw1"));
}

TEST_F(ProcessIo, ASecondOneOfTheSameNameIsRefused) {
    SwitchProcess second({"--name", "sw1", "--config", config_, "--run-dir", directory_.path(), "--no-huge"});
    EXPECT_EQ(second.wait(), 1);
    const std::string errors = second.errors();
    EXPECT_NE(errors.find("another process named \"sw1\" is running"), std::string::npos) << errors;
    send(0, {});
    ASSERT_TRUE(await([this] { return received_[1].size() == 1; })) << "the first is unharmed";
}

}  // namespace
}  // namespace vroce::sw
