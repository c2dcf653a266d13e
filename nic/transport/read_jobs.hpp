// READ requests waiting for their responses, in the order of their PSNs: the order in which responses must leave.
#pragma once

#include <cstdint>

#include "nic/transport/qp_context.hpp"

namespace vroce::nic {

class ReadJobs {
public:
    explicit ReadJobs(QpContext& qp) : qp_(qp) {}
    ~ReadJobs() { clear(); }
    ReadJobs(const ReadJobs&) = delete;
    ReadJobs& operator=(const ReadJobs&) = delete;

    /// An in-order request, behind all others.
    void add(const ReadJob& job);
    enum class Replay : std::uint8_t {
        Added,
        Restarted,  ///< it was still waiting: it begins again where the duplicate asks
        Covered,    ///< it was still waiting, and what the duplicate asks for is yet to be sent
        Full,
    };
    /// A duplicate request, at its place among the others.
    Replay replay(const ReadJob& job);
    void finish_first();
    void clear();

    [[nodiscard]] ReadJob* first() const { return first_; }
    [[nodiscard]] bool empty() const { return first_ == nullptr; }
    /// In-order requests not wholly answered.
    [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }

private:
    QpContext& qp_;
    ReadJob* first_ = nullptr;
    std::uint32_t outstanding_ = 0;
    std::uint32_t replays_ = 0;
};

}  // namespace vroce::nic
