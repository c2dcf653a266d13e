// The virtual clock of the test fabric: machines that are asked what they do next, and done in the order of time. A run
// is a function of its machines and their seeds alone.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/time.hpp"

namespace vroce::sim {

/// A machine of the fabric: a switch, a station.
class Node {
public:
    virtual ~Node() = default;
    /// One iteration of its loop: take what has arrived, do what is due, send what may leave.
    virtual void run(Instant now) = 0;
    /// When the next iteration is worth something; kNever: nothing will happen without others.
    [[nodiscard]] virtual Instant next_deadline() const = 0;
};

class World {
public:
    /// The node outlives the world's last run.
    void add(Node& node) { nodes_.push_back(&node); }
    /// What the links and nodes read; starts at 1 s, so that "before the start" exists.
    [[nodiscard]] const Instant& now() const { return now_; }
    /// Called after every iteration of every node; for invariants.
    using Check = void (*)(void* context);
    void set_check(Check check, void* context) {
        check_ = check;
        check_context_ = context;
    }

    void run_until(Instant end);
    void run_for(Duration time) { run_until(now_ + time); }
    /// Until nobody has anything to do; false when that is not so after `limit`.
    [[nodiscard]] bool run_dry(Duration limit);

    [[nodiscard]] std::uint64_t iterations() const { return iterations_; }

private:
    [[nodiscard]] Instant next_deadline() const;
    void run_due();

    std::vector<Node*> nodes_;
    Instant now_ = Instant{} + seconds(1);
    Check check_ = nullptr;
    void* check_context_ = nullptr;
    std::uint64_t iterations_ = 0;
};

}  // namespace vroce::sim
