// MAC learning (802.1Q 8.7).
#include "switch/pipeline/learn.hpp"

namespace vroce::sw {

LearnExit learn_source(Instant now, PortId in_port, const Frame& frame, Fdb& fdb) {
    if (is_multicast(frame.source) || frame.source == 0) return LearnExit::kInvalidSource;
    switch (fdb.learn(now, frame.packet->meta.vlan, frame.source, in_port)) {
        case Fdb::Learnt::kKnown:
            return LearnExit::kKnown;
        case Fdb::Learnt::kNew:
            return LearnExit::kLearnt;
        case Fdb::Learnt::kMoved:
            return LearnExit::kMoved;
        case Fdb::Learnt::kFull:
            break;
    }
    return LearnExit::kFull;
}

void learn(Burst& burst, Fdb& fdb) {
    for (const Frame& frame : burst.frames()) {
        fdb.prefetch(frame.packet->meta.vlan, frame.source);
        fdb.prefetch(frame.packet->meta.vlan, frame.destination);
    }
    burst.filter([&burst, &fdb](const Frame& frame) {
        const LearnExit exit = learn_source(burst.now(), burst.in_port(), frame, fdb);
        if (exit == LearnExit::kInvalidSource) return Verdict::drop(DropReason::kSourceInvalid);
        if (exit == LearnExit::kFull) ++burst.counters().learn_refused;
        return Verdict::next();
    });
}

}  // namespace vroce::sw
