// Two engines joined by an in-memory link that loses, reorders, duplicates and corrupts frames from one seed, on a
// virtual clock. Programs of work requests run over it and are compared with what the operations mean.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "common/packet/slab_pool.hpp"
#include "nic/transport/engine.hpp"
#include "nic/transport/engine_counters.hpp"
#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {

struct Faults {
    double drop = 0;
    double duplicate = 0;
    double reorder = 0;
    double corrupt = 0;
};

/// One direction of a cable.
class Wire {
public:
    Wire(std::uint64_t seed, const Faults& faults) : random_(seed), faults_(faults) {}

    void send(Instant now, Packet* packet);
    /// Gives what has arrived to `to`.
    void deliver(Instant now, Engine& to);
    [[nodiscard]] Instant next_arrival() const { return flying_.empty() ? kNever : flying_.begin()->first; }
    void clear();

private:
    bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }

    std::mt19937_64 random_;
    Faults faults_;
    std::multimap<Instant, Packet*> flying_;
};

struct Side {
    Side(const EngineConfig& config, PacketPool& pool) : engine(config, pool) {}
    Engine engine;
    std::vector<std::unique_ptr<TestEnv>> envs;  ///< one for each queue pair
    std::vector<std::uint32_t> qpns;
};

class Fabric {
public:
    struct Options {
        std::uint64_t seed = 1;
        Faults faults{};
        std::uint32_t mtu = 1'024;
        std::size_t pairs = 1;
        std::uint8_t timeout = 4;  ///< 65 us
        std::uint8_t retry_count = 7;
        bool ipv6 = false;
        EngineConfig engine{};
    };
    explicit Fabric(const Options& options);
    ~Fabric();

    /// Runs until nothing moves any more; false after `most_steps`.
    [[nodiscard]] bool run(std::size_t most_steps = 2'000'000);
    void ring_all();

    SlabPool pool;
    Side a;
    Side b;
    Instant now{1'000'000};

private:
    void connect(Side& from, Side& to, std::size_t pair, const Options& options, bool first);
    void step_side(Side& side, Wire& out);

    Wire a_to_b_;
    Wire b_to_a_;
};

}  // namespace vroce::nic::test
