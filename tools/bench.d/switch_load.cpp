// Floods one port of a switch through two others: 1,024 pairs of stations, frames as fast as the rings take them,
// whatever comes back. Prints one JSON object: what was sent, and what arrived at the flooded port.
//
//   switch_load --cpu N --seconds N --bytes N --queues N --directory DIR SOCKET SOCKET SOCKET
//
// The sockets are memif servers; the third is the flooded port, whose stations speak first so that they are known.
// Pause frames are read and not obeyed: the load is open loop.

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/units.hpp"
#include "common/dpdk/eal.hpp"

namespace vroce {
namespace {

constexpr unsigned kPairs = 1'024;
constexpr unsigned kPorts = 3;
constexpr unsigned kFlooded = 2;
constexpr std::uint16_t kBurst = 32;
constexpr std::uint16_t kRing = 256;  // as the switch's own ports
constexpr unsigned kPackets = 16'383;
constexpr std::uint16_t kBufferBytes = 9'600;
constexpr std::uint32_t kMinBytes = 60;
constexpr std::uint32_t kMaxBytes = 9'000;
constexpr unsigned kLinkLimitMs = 10'000;

struct Options {
    EalOptions eal;
    unsigned seconds = 4;
    std::uint16_t bytes = 64;
    std::uint16_t queues = 1;  // of each port: OVS needs two
    std::vector<std::string> sockets;
};

[[noreturn]] void fail(const std::string& line) {
    std::fprintf(stderr, "switch_load: %s\n", line.c_str());
    std::exit(1);
}

unsigned number(const std::string& text, unsigned low, unsigned high) {
    const auto value = parse_u64(text);
    if (!value || *value < low || *value > high)
        fail("'" + text + "' is not a number from " + std::to_string(low) + " to " + std::to_string(high));
    return static_cast<unsigned>(*value);
}

Options parse(int count, char** words) {
    Options options;
    options.eal.name = "switch_load";
    options.eal.memory_mib = 256;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word.rfind("--", 0) != 0) {
            options.sockets.push_back(word);
            continue;
        }
        if (++i == count) fail(word + " needs a value");
        const std::string value = words[i];
        if (word == "--cpu")
            options.eal.cpu = static_cast<int>(number(value, 0, 1'023));
        else if (word == "--seconds")
            options.seconds = number(value, 1, 600);
        else if (word == "--bytes")
            options.bytes = static_cast<std::uint16_t>(number(value, kMinBytes, kMaxBytes));
        else if (word == "--queues")
            options.queues = static_cast<std::uint16_t>(number(value, 1, 8));
        else if (word == "--directory")
            options.eal.run_dir = value;
        else
            fail("unknown option " + word + "; allowed: --cpu, --seconds, --bytes, --queues, --directory");
    }
    if (options.sockets.size() != kPorts) fail("three sockets are expected");
    return options;
}

/// Locally administered; port and station in it.
void write_mac(std::uint8_t* at, unsigned port, unsigned station) {
    const std::array<std::uint8_t, 6> mac{0x02,
                                          0,
                                          0,
                                          static_cast<std::uint8_t>(port),
                                          static_cast<std::uint8_t>(station >> 8),
                                          static_cast<std::uint8_t>(station)};
    std::memcpy(at, mac.data(), mac.size());
}

/// An IPv4 frame, so that a switch that classifies by DSCP has something to read.
void write_frame(rte_mbuf& mbuf, std::uint16_t bytes, unsigned from_port, unsigned to_port, unsigned station) {
    mbuf.data_len = bytes;
    mbuf.pkt_len = bytes;
    auto* frame = rte_pktmbuf_mtod(&mbuf, std::uint8_t*);
    std::memset(frame, 0, 34);
    write_mac(frame, to_port, station);
    write_mac(frame + 6, from_port, station);
    constexpr std::array<std::uint8_t, 4> kBegin{0x08, 0x00, 0x45, 0x00};
    std::memcpy(frame + 12, kBegin.data(), kBegin.size());
    frame[16] = static_cast<std::uint8_t>((bytes - 14) >> 8);
    frame[17] = static_cast<std::uint8_t>(bytes - 14);
    frame[22] = 64;   // TTL
    frame[23] = 253;  // for experiments (RFC 3692)
}

class Load {
public:
    explicit Load(const Options& options) : options_(options) {
        pool_ = rte_pktmbuf_pool_create("load", kPackets, kBurst * 8, 0, kBufferBytes, SOCKET_ID_ANY);
        if (pool_ == nullptr) fail("no memory for packets");
        for (unsigned i = 0; i < kPorts; ++i) ports_[i] = open_port(i);
    }

    void await_links() {
        for (unsigned waited_ms = 0; waited_ms < kLinkLimitMs; ++waited_ms) {
            unsigned up = 0;
            for (const std::uint16_t port : ports_) {
                rte_eth_link link{};
                if (rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP) ++up;
            }
            if (up == kPorts) return;
            rte_delay_us_sleep(1'000);
        }
        fail("the links do not come up");
    }

    /// Every station of every port says something to another, slowly, until the switch knows them.
    void introduce() {
        for (int round = 0; round < 2; ++round) {
            for (unsigned station = 0; station < kPairs; ++station) {
                for (unsigned port = 0; port < kPorts; ++port) {
                    send(port, port == kFlooded ? 0 : kFlooded, station, 1);
                    drain();
                }
                rte_delay_us_block(20);
            }
        }
        received_ = 0;
    }

    void flood() {
        const std::uint64_t begin = rte_get_tsc_cycles();
        const std::uint64_t end = begin + options_.seconds * rte_get_tsc_hz();
        std::array<unsigned, kFlooded> station{0, kPairs / 2};
        std::uint64_t sent = 0;
        std::uint64_t now = begin;
        for (; now < end; now = rte_get_tsc_cycles()) {
            for (unsigned port = 0; port < kFlooded; ++port) {
                sent += send(port, kFlooded, station[port], kBurst);
                station[port] = (station[port] + kBurst) % kPairs;
            }
            drain();
        }
        const double elapsed = static_cast<double>(now - begin) / static_cast<double>(rte_get_tsc_hz());
        std::printf("{\"seconds\": %.3f, \"sent_pps\": %.0f, \"received_pps\": %.0f}\n", elapsed,
                    static_cast<double>(sent) / elapsed, static_cast<double>(received_) / elapsed);
    }

private:
    std::uint16_t open_port(unsigned index) {
        const std::string name = "net_memif" + std::to_string(index);
        const std::string arguments =
            "role=client,socket=" + options_.sockets[index] + ",socket-abstract=no,bsize=9216,rsize=8";
        std::uint16_t port = 0;
        rte_eth_conf conf{};
        if (rte_eal_hotplug_add("vdev", name.c_str(), arguments.c_str()) != 0 ||
            rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0 ||
            rte_eth_dev_configure(port, options_.queues, options_.queues, &conf) != 0)
            fail("no port at " + options_.sockets[index]);
        for (std::uint16_t queue = 0; queue < options_.queues; ++queue) {
            if (rte_eth_rx_queue_setup(port, queue, kRing, SOCKET_ID_ANY, nullptr, pool_) != 0 ||
                rte_eth_tx_queue_setup(port, queue, kRing, SOCKET_ID_ANY, nullptr) != 0)
                fail("no queue at " + options_.sockets[index]);
        }
        if (rte_eth_dev_start(port) != 0) fail("no start at " + options_.sockets[index]);
        return port;
    }

    /// Frames of stations that follow each other; how many the ring took.
    std::uint16_t send(unsigned port, unsigned to_port, unsigned first_station, std::uint16_t count) {
        std::array<rte_mbuf*, kBurst> burst{};
        if (rte_pktmbuf_alloc_bulk(pool_, burst.data(), count) != 0) return 0;
        for (unsigned i = 0; i < count; ++i)
            write_frame(*burst[i], options_.bytes, port, to_port, (first_station + i) % kPairs);
        const std::uint16_t took = rte_eth_tx_burst(ports_[port], 0, burst.data(), count);
        rte_pktmbuf_free_bulk(burst.data() + took, count - took);
        return took;
    }

    void drain() {
        std::array<rte_mbuf*, kBurst> burst{};
        for (unsigned port = 0; port < kPorts; ++port) {
            for (std::uint16_t queue = 0; queue < options_.queues; ++queue) {
                std::uint16_t count = 0;
                do {
                    count = rte_eth_rx_burst(ports_[port], queue, burst.data(), kBurst);
                    rte_pktmbuf_free_bulk(burst.data(), count);
                    if (port == kFlooded) received_ += count;
                } while (count == kBurst);
            }
        }
    }

    const Options& options_;
    rte_mempool* pool_ = nullptr;
    std::array<std::uint16_t, kPorts> ports_{};
    std::uint64_t received_ = 0;
};

int run(const Options& options) {
    if (Status status = start_eal(options.eal); !status) fail(status.error());
    Load load(options);
    load.await_links();
    load.introduce();
    load.flood();
    stop_eal();
    return 0;
}

}  // namespace
}  // namespace vroce

int main(int count, char** words) {
    return vroce::run(vroce::parse(count, words));
}
