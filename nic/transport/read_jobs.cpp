// The list is as long as max_dest_rd_atomic and its replays at most, so walking it is cheap.
#include "nic/transport/read_jobs.hpp"

namespace vroce::nic {

void ReadJobs::add(const ReadJob& job) {
    ReadJob** place = &first_;
    while (*place != nullptr) place = &(*place)->next;
    *place = qp_.core.read_jobs.take();
    **place = job;
    (*place)->next = nullptr;
    ++outstanding_;
}

ReadJobs::Replay ReadJobs::replay(const ReadJob& job) {
    ReadJob** place = &first_;
    for (; *place != nullptr; place = &(*place)->next) {
        ReadJob& waiting = **place;
        if (waiting.end() == job.end()) {
            if (distance(waiting.position(), job.psn) > 0) return Replay::Covered;
            ReadJob again = job;
            again.next = waiting.next;
            again.msn = waiting.msn;
            again.replay = waiting.replay;
            waiting = again;
            return Replay::Restarted;
        }
        if (distance(job.psn, waiting.psn) > 0) break;
    }
    if (replays_ >= qp_.attributes.max_dest_rd_atomic) return Replay::Full;
    ReadJob* added = qp_.core.read_jobs.take();
    *added = job;
    added->replay = true;
    added->next = *place;
    *place = added;
    ++replays_;
    return Replay::Added;
}

void ReadJobs::finish_first() {
    ReadJob* job = first_;
    first_ = job->next;
    --(job->replay ? replays_ : outstanding_);
    qp_.core.read_jobs.put(job);
}

void ReadJobs::clear() {
    while (first_ != nullptr) finish_first();
}

}  // namespace vroce::nic
