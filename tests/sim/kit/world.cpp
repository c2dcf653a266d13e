#include "tests/sim/kit/world.hpp"

#include <algorithm>

namespace vroce::sim {

void World::run_until(Instant end) {
    for (Instant next = next_deadline(); next <= end; next = next_deadline()) {
        now_ = std::max(now_, next);
        run_due();
    }
    now_ = std::max(now_, end);
}

bool World::run_dry(Duration limit) {
    const Instant end = now_ + limit;
    run_until(end);
    return next_deadline() == kNever;
}

Instant World::next_deadline() const {
    Instant next = kNever;
    for (const Node* node : nodes_) next = std::min(next, node->next_deadline());
    return next;
}

void World::run_due() {
    for (Node* node : nodes_) {
        if (node->next_deadline() > now_) continue;
        node->run(now_);
        ++iterations_;
        if (check_ != nullptr) check_(check_context_);
    }
}

}  // namespace vroce::sim
