#include "tests/blackbox/kit/switch_under_test.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "common/control/control_client.hpp"
#include "common/dpdk/eal.hpp"
#include "common/dpdk/mbuf_pool.hpp"

namespace vroce::blackbox {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{20};
constexpr unsigned kPackets = 16'384;

/// One DPDK environment for the program: it cannot be started twice.
class Environment final : public ::testing::Environment {
public:
    void SetUp() override {
        EalOptions options;
        options.name = "blackbox";
        options.run_dir = directory_.path();
        options.memory_mib = 256;
        options.no_huge = true;
        const Status started = start_eal(options);
        ASSERT_TRUE(started) << started.error();
        auto made = MbufPool::create("blackbox", kPackets, 9'216);
        ASSERT_TRUE(made) << made.error();
        pool = std::move(*made);
    }
    void TearDown() override {
        pool.reset();
        stop_eal();
    }
    std::unique_ptr<MbufPool> pool;

private:
    sw::test::TemporaryDirectory directory_;
};
auto* const kEnvironment = static_cast<Environment*>(::testing::AddGlobalTestEnvironment(new Environment));

Mac mac_at(const std::uint8_t* at) {
    Mac mac = 0;
    for (int i = 0; i < 6; ++i) mac = mac << 8 | at[i];
    return mac;
}

PauseSeen pause_of(const Packet& packet, const PauseFrame& frame) {
    return {frame, mac_at(packet.data), mac_at(packet.data + 6), packet.length};
}

}  // namespace

SwitchUnderTest::SwitchUnderTest(const json& config, std::size_t ports)
    : control_(directory_.path() + "/sw1/control.sock"), frames_(ports), pauses_(ports), sent_(ports) {
    const std::string file = directory_.write("sw1.json", config.dump(2));
    // rx-hold off: what headroom does not take must be seen as a drop, not wait in the ring (design D11).
    switch_ = std::make_unique<sw::test::SwitchProcess>(std::vector<std::string>{
        "--name", "sw1", "--config", file, "--run-dir", directory_.path(), "--no-huge", "--rx-hold", "off"});
    if (!switch_->await_ready(control_)) throw std::runtime_error(switch_->errors());
    for (std::size_t i = 0; i < ports; ++i) ports_.push_back(plug_into(i));
    EXPECT_TRUE(await_links()) << switch_->errors();
    for (std::size_t i = 0; i < ports; ++i) announce(i);
    settle();
    forget();
}

SwitchUnderTest::~SwitchUnderTest() = default;

MbufPool& SwitchUnderTest::pool() {
    return *kEnvironment->pool;
}

std::unique_ptr<EthdevPort> SwitchUnderTest::plug_into(std::size_t port) const {
    static int devices = 0;
    EthdevPortOptions options;
    options.devargs = "net_memif" + std::to_string(devices++) + ",role=client,socket=" + directory_.path() + "/sw1/" +
                      name(port) + ".memif";
    auto opened = EthdevPort::open(options, *kEnvironment->pool);
    if (opened) return std::move(*opened);
    ADD_FAILURE() << opened.error();
    return nullptr;
}

bool SwitchUnderTest::await_links() {
    return await([this] {
        for (const auto& port : ports_) {
            if (!port->link_up()) return false;
        }
        const json status = ask("status");
        for (std::size_t i = 0; i < ports_.size(); ++i) {
            if (status["ports"][i]["link_up"] != true) return false;
        }
        return true;
    });
}

void SwitchUnderTest::announce(std::size_t port) {
    send(port, {.to = kBroadcastMac, .from = station(port), .dscp = kBestEffortDscp, .bytes = 64});
}

void SwitchUnderTest::replug(std::size_t port) {
    ports_[port].reset();
    const auto deadline = steady_clock::now() + kPatience;
    while (ask("status")["ports"][port]["link_up"] == true && steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ports_[port] = plug_into(port);
    EXPECT_TRUE(await_links()) << switch_->errors();
    poll();
    taken_ = sent_by_switch();  // what was in the rings of the old link is lost
    announce(port);
    settle();
    forget();
}

void SwitchUnderTest::send_bytes(std::size_t port, const Bytes& bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        Packet* packet = kEnvironment->pool->alloc();
        ASSERT_NE(packet, nullptr);
        packet->resize(static_cast<std::uint32_t>(bytes.size()));
        std::memcpy(packet->data, bytes.data(), bytes.size());
        ASSERT_TRUE(await([&] { return ports_[port]->send({&packet, 1}) == 1; })) << switch_->errors();
        ports_[port]->ring_doorbell();
        ++sent_[port];
    }
}

void SwitchUnderTest::send_pause(std::size_t port, const PauseFrame& pause, Mac from) {
    std::array<std::uint8_t, 6> source{};
    for (std::size_t i = 0; i < 6; ++i) source[i] = static_cast<std::uint8_t>(from >> (40 - 8 * i));
    const auto bytes = build_pause(pause, source);
    send_bytes(port, Bytes(bytes.begin(), bytes.end()));
}

void SwitchUnderTest::settle() {
    EXPECT_TRUE(await([this] {
        const json ports = ask("counters")["ports"];
        for (std::size_t i = 0; i < ports_.size(); ++i) {
            const json& rx = ports[name(i)]["rx"];
            if (rx["packets"].get<std::uint64_t>() != sent_[i]) return false;
        }
        return true;
    })) << "the switch has not taken what was sent";
    poll();
}

bool SwitchUnderTest::await(const std::function<bool()>& condition) {
    const auto deadline = steady_clock::now() + kPatience;
    while (!condition()) {
        if (steady_clock::now() > deadline || ::testing::Test::HasFatalFailure()) return false;
        poll();
        std::this_thread::yield();
    }
    return true;
}

bool SwitchUnderTest::await_frames(std::size_t port, std::size_t count) {
    return await([&] { return frames_[port].size() >= count; });
}

void SwitchUnderTest::poll_for(std::chrono::milliseconds time) {
    const auto end = steady_clock::now() + time;
    while (steady_clock::now() < end) {
        poll();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

void SwitchUnderTest::serve_links() {
    for (const auto& port : ports_) {
        port->doorbell()->serve();
        port->update_link(clock.now());
    }
}

void SwitchUnderTest::poll() {
    serve_links();
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        std::array<Packet*, 32> packets;
        while (const std::size_t count = ports_[i]->receive(packets)) {
            for (std::size_t n = 0; n < count; ++n) {
                const auto pause =
                    is_mac_control(packets[n]->bytes()) ? parse_pause(packets[n]->bytes()) : std::nullopt;
                if (pause) {
                    pauses_[i].push_back(pause_of(*packets[n], *pause));
                } else {
                    frames_[i].emplace_back(packets[n]->data, packets[n]->data + packets[n]->length);
                }
                release(packets[n]);
                ++taken_;
            }
        }
    }
}

std::uint64_t SwitchUnderTest::sent_by_switch() {
    std::uint64_t sum = 0;
    const json all = ask("counters");
    for (const auto& [port, counters] : all["ports"].items())
        sum += counters["tx"]["sent_packets"].get<std::uint64_t>();
    return sum;
}

void SwitchUnderTest::drain() {
    // Asked three times: between the last two answers the switch has begun an iteration, and ended it, at a time when
    // what the first answer left behind was due.
    constexpr unsigned kSame = 3;
    std::uint64_t last = 0;
    unsigned same = 0;
    EXPECT_TRUE(await([&] {
        poll_for(std::chrono::milliseconds(2));
        const std::uint64_t sent = sent_by_switch();
        poll();
        same = sent == last && sent == taken_ ? same + 1 : 0;
        last = sent;
        return same == kSame;
    })) << "sent "
        << last << ", come " << taken_;
}

void SwitchUnderTest::forget() {
    drain();
    for (auto& frames : frames_) frames.clear();
    for (auto& pauses : pauses_) pauses.clear();
}

void SwitchUnderTest::block(std::size_t port, const std::vector<unsigned>& priorities) {
    ask("fault.set", {{"dev", name(port)}, {"pfc_storm", priorities}});
}

void SwitchUnderTest::unblock(std::size_t port) {
    ask("fault.clear", {{"dev", name(port)}});
}

json SwitchUnderTest::ask(const std::string& command, const json& args) {
    return sw::test::ask(control_, command, args);
}

json SwitchUnderTest::dcb_set(std::size_t port, const std::string& object, const json& tables) {
    json args = tables;
    args.update({{"dev", name(port)}, {"object", object}, {"verb", "set"}});
    return ask("dcb.set", args);
}

std::string SwitchUnderTest::dcb_refusal(std::size_t port, const std::string& object, const json& tables) {
    json args = tables;
    args.update({{"dev", name(port)}, {"object", object}, {"verb", "set"}});
    const auto answer = control_call(control_, "dcb.set", args);
    return answer ? "accepted" : answer.error();
}

std::uint64_t SwitchUnderTest::drops() {
    std::uint64_t sum = 0;
    const json all = ask("counters");
    for (const auto& [port, counters] : all["ports"].items()) {
        for (const auto& [reason, count] : counters["drop"].items()) sum += count.get<std::uint64_t>();
    }
    return sum;
}

}  // namespace vroce::blackbox
