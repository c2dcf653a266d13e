#include "nic/device/qp_transitions.hpp"

#include <array>
#include <cerrno>

namespace vroce::nic {

namespace {

struct Transition {
    QpState from;
    QpState to;
    std::uint32_t required;
    std::uint32_t optional;
};

constexpr std::uint32_t kRunning = kAttrCurState | kAttrAccessFlags | kAttrMinRnrTimer | kAttrPathMigState;

constexpr std::array<Transition, 8> kRcTransitions{{
    {QpState::Reset, QpState::Init, kAttrPkeyIndex | kAttrPort | kAttrAccessFlags, 0},
    {QpState::Init, QpState::Init, 0, kAttrPkeyIndex | kAttrPort | kAttrAccessFlags},
    {QpState::Init, QpState::Rtr,
     kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn | kAttrMaxDestRdAtomic | kAttrMinRnrTimer,
     kAttrAccessFlags | kAttrPkeyIndex},
    {QpState::Rtr, QpState::Rts, kAttrTimeout | kAttrRetryCnt | kAttrRnrRetry | kAttrSqPsn | kAttrMaxQpRdAtomic,
     kRunning},
    {QpState::Rts, QpState::Rts, 0, kRunning},
    {QpState::Rts, QpState::Sqd, 0, kAttrCurState | kAttrEnSqdAsyncNotify},
    {QpState::Sqd, QpState::Rts, 0, kRunning},
    {QpState::Sqd, QpState::Sqd, 0,
     kAttrAv | kAttrPort | kAttrTimeout | kAttrRetryCnt | kAttrRnrRetry | kAttrMaxQpRdAtomic | kAttrMaxDestRdAtomic |
         kAttrAccessFlags | kAttrPkeyIndex | kAttrMinRnrTimer | kAttrPathMigState},
}};

}  // namespace

int check_rc_transition(QpState from, QpState to, std::uint32_t attr_mask) {
    const std::uint32_t given = attr_mask & ~std::uint32_t{kAttrState};
    // Any state may be left for Reset and for Err, and needs nothing for it.
    if (to == QpState::Reset || to == QpState::Err) return (given & ~std::uint32_t{kAttrCurState}) == 0 ? 0 : EINVAL;
    for (const Transition& t : kRcTransitions) {
        if (t.from != from || t.to != to) continue;
        const bool complete = (given & t.required) == t.required;
        const bool allowed = (given & ~(t.required | t.optional)) == 0;
        return complete && allowed ? 0 : EINVAL;
    }
    return EINVAL;
}

}  // namespace vroce::nic
