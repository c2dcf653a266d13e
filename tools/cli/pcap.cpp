// vroce pcap: traffic of a port, or of a whole switch, into a file that Wireshark reads.
#include <fmt/core.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tools/cli/command.hpp"
#include "tools/lab/lab.hpp"
#include "tools/lab/peer.hpp"

namespace vroce::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kFileHeaderBytes = 24;    // pcap global header
constexpr std::size_t kRecordHeaderBytes = 16;  // seconds, fraction, captured bytes, bytes on the wire
constexpr std::chrono::milliseconds kStep{100};
constexpr std::uint64_t kMost = 1'000'000'000;

/// How many whole records the file holds, continued from where the last look ended.
class RecordCounter {
public:
    explicit RecordCounter(std::string path) : path_(std::move(path)) {}
    std::uint64_t count() {
        std::ifstream in(path_, std::ios::binary);
        std::error_code error;
        const auto size = fs::file_size(path_, error);
        while (in && !error && at_ + kRecordHeaderBytes <= size) {
            std::uint32_t header[4] = {};
            in.seekg(static_cast<std::streamoff>(at_));
            if (!in.read(reinterpret_cast<char*>(header), sizeof header)) break;
            if (at_ + kRecordHeaderBytes + header[2] > size) break;
            at_ += kRecordHeaderBytes + header[2];
            ++count_;
        }
        return count_;
    }

private:
    std::string path_;
    std::uint64_t at_ = kFileHeaderBytes;
    std::uint64_t count_ = 0;
};

/// A positive whole number, or 0.
std::uint64_t whole(const std::string& text) {
    if (text.empty() || text.size() > 10 || text.find_first_not_of("0123456789") != std::string::npos) return 0;
    const std::uint64_t n = std::stoull(text);
    return n <= kMost ? n : 0;
}

Result<tools::PeerPort> where(const Arguments& arguments) {
    if (const auto dev = arguments.get("dev")) return tools::find_port(arguments.run_dir(), *dev);
    for (const tools::Peer& peer : tools::find_peers(arguments.run_dir())) {
        const auto status = tools::ask(peer, "status");
        if (status && status->value("kind", "") == "switch") return tools::PeerPort{peer, ""};
    }
    return Error{fmt::format("no switch runs below {}; 'dev PORT' names a NIC's port", arguments.run_dir())};
}

/// Until Ctrl-C, the time or the number of packets.
void wait(std::uint64_t seconds, std::uint64_t packets, const std::string& file) {
    const auto begin = std::chrono::steady_clock::now();
    RecordCounter counter(file);
    while (!tools::interrupted()) {
        std::this_thread::sleep_for(kStep);
        if (seconds != 0 && std::chrono::steady_clock::now() - begin >= std::chrono::seconds(seconds)) return;
        if (packets != 0 && counter.count() >= packets) return;
    }
}

Outcome capture(const Arguments& arguments) {
    const auto seconds_text = arguments.get("seconds");
    const auto count_text = arguments.get("count");
    const std::uint64_t seconds = seconds_text ? whole(*seconds_text) : 0;
    const std::uint64_t packets = count_text ? whole(*count_text) : 0;
    if (seconds_text && seconds == 0)
        return wrong_usage(fmt::format("--seconds '{}': 1 to {} is allowed", *seconds_text, kMost));
    if (count_text && packets == 0) return wrong_usage(fmt::format("-c '{}': 1 to {} is allowed", *count_text, kMost));
    const std::string file = fs::absolute(*arguments.get("w")).lexically_normal().string();
    const auto target = where(arguments);
    if (!target) return failure(target.error());
    json request = {{"file", file}};
    if (!target->port.empty()) request["dev"] = target->port;
    tools::catch_interrupts();
    const auto started = tools::ask(target->peer, "capture.start", request);
    if (!started) return failure(started.error());
    fmt::print("capturing on {}{}{} into {}{}\n", target->peer.name, target->port.empty() ? "" : "/", target->port,
               file, seconds == 0 && packets == 0 ? "; Ctrl-C ends it" : "");
    std::fflush(stdout);
    wait(seconds, packets, file);
    const auto stopped = tools::ask(target->peer, "capture.stop");
    if (!stopped) return failure(stopped.error());
    fmt::print("{} packets in {}\n", RecordCounter(file).count(), file);
    return done();
}

}  // namespace

std::vector<Command> pcap_commands() {
    return {
        {"pcap capture",
         "write a port's packets, both directions, into a pcap file; without dev those of the first switch",
         {{Kind::key, "dev", "PORT", "Ethernet0, sw1/Ethernet0, h1/uplink"},
          {Kind::option, "-w", "FILE", "the pcap file; an old one is replaced", true},
          {Kind::option, "-c, --count", "N", "end after N packets"},
          {Kind::option, "--seconds", "N", "end after N seconds"}},
         capture},
    };
}

}  // namespace vroce::cli
