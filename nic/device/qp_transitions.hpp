// Which attributes a transition of a queue pair needs and which it allows: IBTA 11.2.5.2, as ibv_modify_qp(3) lists it.
#pragma once

#include <cstdint>

#include "nic/transport/types.hpp"

namespace vroce::nic {

/// enum ibv_qp_attr_mask.
enum QpAttrMask : std::uint32_t {
    kAttrState = 1u << 0,
    kAttrCurState = 1u << 1,
    kAttrEnSqdAsyncNotify = 1u << 2,
    kAttrAccessFlags = 1u << 3,
    kAttrPkeyIndex = 1u << 4,
    kAttrPort = 1u << 5,
    kAttrQkey = 1u << 6,
    kAttrAv = 1u << 7,
    kAttrPathMtu = 1u << 8,
    kAttrTimeout = 1u << 9,
    kAttrRetryCnt = 1u << 10,
    kAttrRnrRetry = 1u << 11,
    kAttrRqPsn = 1u << 12,
    kAttrMaxQpRdAtomic = 1u << 13,
    kAttrAltPath = 1u << 14,
    kAttrMinRnrTimer = 1u << 15,
    kAttrSqPsn = 1u << 16,
    kAttrMaxDestRdAtomic = 1u << 17,
    kAttrPathMigState = 1u << 18,
    kAttrCap = 1u << 19,
    kAttrDestQpn = 1u << 20,
};

/// 0 when an RC queue pair in `from` may go to `to` with exactly these attributes, else EINVAL.
[[nodiscard]] int check_rc_transition(QpState from, QpState to, std::uint32_t attr_mask);

}  // namespace vroce::nic
