// Every state a queue pair can be in: what may be asked of it there, and that it can be ended there.
#include <cerrno>

#include "tests/unit/nic_device/host.hpp"

namespace vroce::nic {
namespace {

constexpr std::array kStates{QpState::Reset, QpState::Init, QpState::Rtr, QpState::Rts,
                             QpState::Sqd,   QpState::Sqe,  QpState::Err};

/// ibv_modify_qp(3) for IBV_QPT_RC and IBTA table 11.2.5.2, written down a second time: attributes by name.
struct Rule {
    QpState from;
    QpState to;
    std::vector<QpAttrMask> required;
    std::vector<QpAttrMask> optional;
};
const std::vector<Rule>& rules() {
    using enum QpState;
    static const std::vector<QpAttrMask> running{kAttrCurState, kAttrAccessFlags, kAttrMinRnrTimer, kAttrPathMigState};
    static const std::vector<Rule> all{
        {Reset, Init, {kAttrPkeyIndex, kAttrPort, kAttrAccessFlags}, {}},
        {Init, Init, {}, {kAttrPkeyIndex, kAttrPort, kAttrAccessFlags}},
        {Init,
         Rtr,
         {kAttrAv, kAttrPathMtu, kAttrDestQpn, kAttrRqPsn, kAttrMaxDestRdAtomic, kAttrMinRnrTimer},
         {kAttrAccessFlags, kAttrPkeyIndex}},
        {Rtr, Rts, {kAttrTimeout, kAttrRetryCnt, kAttrRnrRetry, kAttrSqPsn, kAttrMaxQpRdAtomic}, running},
        {Rts, Rts, {}, running},
        {Rts, Sqd, {}, {kAttrCurState, kAttrEnSqdAsyncNotify}},
        {Sqd, Rts, {}, running},
        {Sqd,
         Sqd,
         {},
         {kAttrAv, kAttrPort, kAttrTimeout, kAttrRetryCnt, kAttrRnrRetry, kAttrMaxQpRdAtomic, kAttrMaxDestRdAtomic,
          kAttrAccessFlags, kAttrPkeyIndex, kAttrMinRnrTimer, kAttrPathMigState}},
    };
    return all;
}

bool allowed(QpState from, QpState to, std::uint32_t mask) {
    std::uint32_t required = 0;
    std::uint32_t optional = 0;
    if (to == QpState::Reset || to == QpState::Err) {
        optional = kAttrCurState;
    } else {
        const auto rule =
            std::find_if(rules().begin(), rules().end(), [&](const Rule& r) { return r.from == from && r.to == to; });
        if (rule == rules().end()) return false;
        for (const QpAttrMask bit : rule->required) required |= bit;
        for (const QpAttrMask bit : rule->optional) optional |= bit;
    }
    return (required & ~mask) == 0 && (mask & ~(required | optional)) == 0;
}

// All pairs of states with all masks that ibv_qp_attr_mask had when it was 21 bits wide.
TEST(QpStates, EveryTransitionWithEveryMask) {
    std::size_t accepted = 0;
    for (const QpState from : kStates) {
        for (const QpState to : kStates) {
            for (std::uint32_t mask = 0; mask < 1u << 21; mask += 2) {
                const bool expected = allowed(from, to, mask);
                const bool found = check_rc_transition(from, to, mask | kAttrState) == 0;
                ASSERT_EQ(found, expected) << int(from) << " to " << int(to) << " mask " << std::hex << mask;
                accepted += found ? 1u : 0u;
            }
        }
    }
    // Reset and Err: 7 x 2 x 2; the table: 1 + 8 + 4 + 16 + 16 + 4 + 16 + 2048.
    EXPECT_EQ(accepted, 28u + 2'113u);
    EXPECT_EQ(check_rc_transition(QpState::Rts, QpState::Rts, 1u << 25), EINVAL) << "a rate limit is not offered";
    EXPECT_EQ(check_rc_transition(QpState::Rts, QpState::Err, kAttrState | 1u << 31), EINVAL);
}

class InState : public ::testing::TestWithParam<QpState> {
protected:
    InState() : qp(host.make_qp()) { bring(); }
    void bring() {
        const QpState goal = GetParam();
        if (goal == QpState::Reset) return;
        host.to_init(*qp);
        if (goal == QpState::Init) return;
        host.to_rtr(*qp, 2, 99);
        if (goal == QpState::Rtr) return;
        host.to_rts(*qp);
        if (goal == QpState::Rts) return;
        ASSERT_EQ(host.modify(*qp, goal), 0);
    }
    Host host;
    std::unique_ptr<TestQp> qp;
};

TEST_P(InState, ItIsWhatQueryTells) {
    EXPECT_EQ(host.state(*qp), GetParam());
}

TEST_P(InState, ItCanBeDestroyedWithWorkPosted) {
    std::array<std::uint8_t, 64> memory{};
    const vroce_sge sge{reinterpret_cast<std::uint64_t>(memory.data()), 64, host.register_memory(memory.data(), 64)};
    vroce_send_wqe wqe{};
    wqe.opcode = VROCE_WR_SEND;
    host.post_send(*qp, wqe, {sge});
    host.post_receive(*qp, 1, {sge});
    host.device.scan_doorbells(host.now);
    std::array<Packet*, 8> burst{};
    const std::size_t count = host.engine.transmit(host.now, burst);
    for (std::size_t i = 0; i < count; ++i) host.pool.free(burst[i]);
    std::uint32_t events = 99;
    std::uint32_t comp = 0;
    EXPECT_EQ(host.device.destroy_qp(*host.context, qp->handle, events), 0);
    EXPECT_EQ(events, host.events.async.size());
    EXPECT_EQ(host.device.destroy_qp(*host.context, qp->handle, events), EINVAL);
    EXPECT_EQ(host.pool.in_use(), 0u);
    host.ring(*qp);
    EXPECT_FALSE(host.device.scan_doorbells(host.now)) << "its bit is nobody's now";
    EXPECT_EQ(host.device.destroy_cq(*host.context, host.cq, comp, events), 0);
}

TEST_P(InState, ItCanBeResetAndUsedAgain) {
    ASSERT_EQ(host.modify(*qp, QpState::Reset), 0);
    vroce_qp_attr attr{};
    ASSERT_EQ(host.device.query_qp(*host.context, qp->handle, attr), 0);
    EXPECT_EQ(attr.dest_qp_num, 0u) << "nothing is left of before";
    bring();
    EXPECT_EQ(host.state(*qp), GetParam());
}

TEST_P(InState, ARefusedChangeChangesNothing) {
    vroce_qp_attr before{};
    ASSERT_EQ(host.device.query_qp(*host.context, qp->handle, before), 0);
    vroce_qp_attr attr{};
    attr.qp_state = 7;
    EXPECT_EQ(host.modify(*qp, kAttrState, attr), EINVAL) << "no such state";
    attr.qp_state = static_cast<std::uint32_t>(QpState::Sqe);
    EXPECT_EQ(host.modify(*qp, kAttrState, attr), EINVAL);
    attr.qp_state = static_cast<std::uint32_t>(QpState::Err);
    attr.cur_qp_state = static_cast<std::uint32_t>(GetParam() == QpState::Init ? QpState::Rtr : QpState::Init);
    EXPECT_EQ(host.modify(*qp, kAttrState | kAttrCurState, attr), EINVAL) << "it is not in the state that is claimed";
    vroce_qp_attr after{};
    ASSERT_EQ(host.device.query_qp(*host.context, qp->handle, after), 0);
    EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
    EXPECT_EQ(host.count(DeviceCounter::RefusedTransition), 3u);
}

INSTANTIATE_TEST_SUITE_P(Each, InState,
                         ::testing::Values(QpState::Reset, QpState::Init, QpState::Rtr, QpState::Rts, QpState::Sqd,
                                           QpState::Err));

TEST(QpStates, ADrainedSendQueueIsToldWhenAskedForAndOnlyThatTime) {
    Host host;
    const auto qp = host.make_qp();
    host.to_init(*qp);
    host.to_rtr(*qp, 2, 99);
    host.to_rts(*qp);
    vroce_qp_attr attr{};
    attr.qp_state = static_cast<std::uint32_t>(QpState::Sqd);
    attr.en_sqd_async_notify = 1;
    ASSERT_EQ(host.modify(*qp, kAttrState | kAttrEnSqdAsyncNotify, attr), 0);
    ASSERT_EQ(host.events.async.size(), 1u);
    EXPECT_EQ(host.events.async[0].event_type, static_cast<std::uint32_t>(AsyncEventType::SqDrained));
    ASSERT_EQ(host.modify(*qp, QpState::Rts), 0);
    ASSERT_EQ(host.modify(*qp, QpState::Sqd), 0);
    EXPECT_EQ(host.events.async.size(), 1u);
}

TEST(QpStates, WithoutAPathTheAnswerIsThatOneIsMissingAndNothingChanges) {
    Host host;
    const auto qp = host.make_qp();
    host.to_init(*qp);
    vroce_qp_attr attr{};
    attr.qp_state = static_cast<std::uint32_t>(QpState::Rtr);
    attr.path_mtu = 3;
    attr.ah_is_global = 1;
    EXPECT_EQ(host.modify(*qp, kRtrMask, attr), EHOSTUNREACH);
    EXPECT_EQ(host.state(*qp), QpState::Init);
}

}  // namespace
}  // namespace vroce::nic
