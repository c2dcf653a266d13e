// A real vroce-switch, and this program plugged into each of its memif ports: frames go in, frames and pause frames
// come out, and what the switch says of itself is asked at its control socket. Nothing of the switch's own code decides
// a verdict.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/dpdk/clock.hpp"
#include "common/dpdk/ethdev_port.hpp"
#include "pfc/frame.hpp"
#include "tests/blackbox/kit/frame.hpp"
#include "tests/unit/switch/switch_process.hpp"

namespace vroce::blackbox {

/// A pause frame that the switch sent.
struct PauseSeen {
    PauseFrame frame;
    Mac to = 0;
    Mac from = 0;
    std::size_t bytes = 0;

    [[nodiscard]] bool xoff(unsigned priority) const { return enabled(priority) && frame.quanta[priority] != 0; }
    [[nodiscard]] bool xon(unsigned priority) const { return enabled(priority) && frame.quanta[priority] == 0; }

private:
    [[nodiscard]] bool enabled(unsigned priority) const { return (frame.enabled >> priority & 1) != 0; }
};

class SwitchUnderTest {
public:
    /// Starts the switch with the first `ports` ports of `config`'s table VROCE_PORT, waits for all links, and lets
    /// every station say something, so that the switch knows where it is.
    SwitchUnderTest(const nlohmann::json& config, std::size_t ports);
    ~SwitchUnderTest();

    [[nodiscard]] static std::string name(std::size_t port) { return "Ethernet" + std::to_string(4 * port); }

    /// Into the switch by this port, `count` times.
    void send_bytes(std::size_t port, const Bytes& bytes, std::size_t count = 1);
    void send(std::size_t port, const FrameSpec& spec, std::size_t count = 1) { send_bytes(port, frame(spec), count); }
    void send_pause(std::size_t port, const PauseFrame& pause, Mac from = 0x0200'0000'2000);
    /// Until the switch has taken all that was sent.
    void settle();
    /// Polls until the condition holds; false after 20 s.
    bool await(const std::function<bool()>& condition);
    /// Until all that may leave the switch has come out: what waits there by now is paused, and nothing is on the way.
    void drain();
    /// Until so many data frames have come out of the port; false after 20 s.
    bool await_frames(std::size_t port, std::size_t count);
    /// Polls for so long.
    void poll_for(std::chrono::milliseconds time);
    /// Takes what has come.
    void poll();

    [[nodiscard]] const std::vector<Bytes>& frames(std::size_t port) const { return frames_[port]; }
    [[nodiscard]] const std::vector<PauseSeen>& pauses(std::size_t port) const { return pauses_[port]; }
    /// Drains, and forgets what has come so far.
    void forget();

    /// As if the port's peer kept these priorities paused, without a gap.
    void block(std::size_t port, const std::vector<unsigned>& priorities);
    void unblock(std::size_t port);
    /// Takes the cable out of the port and puts it back; the station says something again.
    void replug(std::size_t port);

    nlohmann::json ask(const std::string& command, const nlohmann::json& args = nlohmann::json::object());
    /// "pfc", "set", {{"prio-pfc", {{"3", 0}}}} as `vroce dcb` says it.
    nlohmann::json dcb_set(std::size_t port, const std::string& object, const nlohmann::json& tables);
    /// Refusal of a dcb command, or "accepted".
    std::string dcb_refusal(std::size_t port, const std::string& object, const nlohmann::json& tables);
    nlohmann::json counters(std::size_t port) { return ask("counters")["ports"][name(port)]; }
    nlohmann::json group(std::size_t port, unsigned group) {
        return counters(port)["priority_group"][std::to_string(group)];
    }
    nlohmann::json queue(std::size_t port, unsigned queue) { return counters(port)["queue"][std::to_string(queue)]; }
    nlohmann::json pause(std::size_t port, unsigned priority) {
        return counters(port)["pause"]["priority"][std::to_string(priority)];
    }
    /// Of this reason on this port.
    std::uint64_t drops(std::size_t port, const std::string& reason) { return counters(port)["drop"][reason]; }
    /// Of all reasons on all ports.
    std::uint64_t drops();
    std::string errors() const { return switch_->errors(); }

    // For tests that drive a port themselves.
    EthdevPort& port(std::size_t port) { return *ports_[port]; }
    MbufPool& pool();
    /// Control thread's part of the ports: their links and doorbells.
    void serve_links();
    TscClock clock;

private:
    [[nodiscard]] std::unique_ptr<EthdevPort> plug_into(std::size_t port) const;
    bool await_links();
    /// What the switch says to have sent by its ports, all together.
    std::uint64_t sent_by_switch();
    void announce(std::size_t port);

    sw::test::TemporaryDirectory directory_;
    std::string control_;
    std::unique_ptr<sw::test::SwitchProcess> switch_;
    std::vector<std::unique_ptr<EthdevPort>> ports_;
    std::vector<std::vector<Bytes>> frames_;
    std::vector<std::vector<PauseSeen>> pauses_;
    std::vector<std::uint64_t> sent_;
    std::uint64_t taken_ = 0;  ///< of what the switch sent
};

}  // namespace vroce::blackbox
