// All pairs of states and all single-attribute changes of the masks, against the rules of ibv_modify_qp(3) for RC.
#include "nic/device/qp_transitions.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace vroce::nic {
namespace {

constexpr std::uint32_t kToInit = kAttrState | kAttrPkeyIndex | kAttrPort | kAttrAccessFlags;
constexpr std::uint32_t kToRtr =
    kAttrState | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn | kAttrMaxDestRdAtomic | kAttrMinRnrTimer;
constexpr std::uint32_t kToRts =
    kAttrState | kAttrTimeout | kAttrRetryCnt | kAttrRnrRetry | kAttrSqPsn | kAttrMaxQpRdAtomic;

TEST(QpTransitions, TheOrdinaryWay) {
    EXPECT_EQ(check_rc_transition(QpState::Reset, QpState::Init, kToInit), 0);
    EXPECT_EQ(check_rc_transition(QpState::Init, QpState::Rtr, kToRtr), 0);
    EXPECT_EQ(check_rc_transition(QpState::Rtr, QpState::Rts, kToRts), 0);
    EXPECT_EQ(check_rc_transition(QpState::Rts, QpState::Sqd, kAttrState | kAttrEnSqdAsyncNotify), 0);
    EXPECT_EQ(check_rc_transition(QpState::Sqd, QpState::Rts, kAttrState | kAttrCurState), 0);
}

TEST(QpTransitions, EachRequiredAttributeIsRequired) {
    const auto each_missing = [](QpState from, QpState to, std::uint32_t mask) {
        for (std::uint32_t bit = 2; bit < 1u << 21; bit <<= 1)
            if ((mask & bit) != 0) {
                EXPECT_EQ(check_rc_transition(from, to, mask & ~bit), EINVAL) << bit;
            }
    };
    each_missing(QpState::Reset, QpState::Init, kToInit);
    each_missing(QpState::Init, QpState::Rtr, kToRtr);
    each_missing(QpState::Rtr, QpState::Rts, kToRts);
}

TEST(QpTransitions, AttributesThatDoNotBelongAreRefused) {
    EXPECT_EQ(check_rc_transition(QpState::Reset, QpState::Init, kToInit | kAttrQkey), EINVAL) << "UD's";
    EXPECT_EQ(check_rc_transition(QpState::Init, QpState::Rtr, kToRtr | kAttrSqPsn), EINVAL);
    EXPECT_EQ(check_rc_transition(QpState::Rtr, QpState::Rts, kToRts | kAttrAltPath), EINVAL) << "no path migration";
    EXPECT_EQ(check_rc_transition(QpState::Rts, QpState::Rts, kAttrPathMtu), EINVAL);
    EXPECT_EQ(check_rc_transition(QpState::Rts, QpState::Err, kAttrState | kAttrTimeout), EINVAL);
}

TEST(QpTransitions, EveryStateMayBeLeftForResetAndErr) {
    for (int from = 0; from <= 6; ++from) {
        EXPECT_EQ(check_rc_transition(static_cast<QpState>(from), QpState::Reset, kAttrState), 0) << from;
        EXPECT_EQ(check_rc_transition(static_cast<QpState>(from), QpState::Err, kAttrState), 0) << from;
    }
}

TEST(QpTransitions, NoStateIsSkipped) {
    const std::uint32_t everything = kToInit | kToRtr | kToRts;
    for (const std::uint32_t mask : {std::uint32_t{kAttrState}, kToInit, kToRtr, kToRts, everything}) {
        EXPECT_EQ(check_rc_transition(QpState::Reset, QpState::Rtr, mask), EINVAL);
        EXPECT_EQ(check_rc_transition(QpState::Reset, QpState::Rts, mask), EINVAL);
        EXPECT_EQ(check_rc_transition(QpState::Init, QpState::Rts, mask), EINVAL);
        EXPECT_EQ(check_rc_transition(QpState::Rts, QpState::Rtr, mask), EINVAL);
        EXPECT_EQ(check_rc_transition(QpState::Err, QpState::Rts, mask), EINVAL);
        EXPECT_EQ(check_rc_transition(QpState::Err, QpState::Init, mask), EINVAL);
        EXPECT_EQ(check_rc_transition(QpState::Rtr, QpState::Sqd, mask), EINVAL);
    }
}

}  // namespace
}  // namespace vroce::nic
