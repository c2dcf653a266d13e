// Completion channels: the command that makes one, the events that go through it, the end of both.
#include <rdma/ib_user_verbs.h>

#include "provider/kernel_abi/uverbs_commands.hpp"
#include "tests/unit/provider/opened_device.hpp"

namespace vroce::provider::test {
namespace {

class ChannelTest : public OpenedDevice {
protected:
    struct Command {
        ib_uverbs_cmd_hdr header;
        ib_uverbs_create_comp_channel body;
    };
    void SetUp() override {
        OpenedDevice::SetUp();
        ib_uverbs_create_comp_channel_resp response{};
        Command command{{IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, sizeof(Command) / 4, sizeof response / 4},
                        {reinterpret_cast<std::uint64_t>(&response)}};
        ASSERT_EQ(answer_uverbs_command(*context_, &command, sizeof command), static_cast<ssize_t>(sizeof command));
        channel_.context = verbs();
        channel_.fd = static_cast<int>(response.fd);
    }
    void TearDown() override {
        if (channel_.fd >= 0) {
            EXPECT_TRUE(context_->drop_channel(channel_.fd));
            close(channel_.fd);
        }
        OpenedDevice::TearDown();
    }
    ibv_cq* read_event() {
        std::uint64_t element = 0;
        EXPECT_EQ(read(channel_.fd, &element, sizeof element), 8);
        return reinterpret_cast<ibv_cq*>(element);
    }
    ibv_comp_channel channel_{};
};

TEST_F(ChannelTest, OtherCommandsAreENOSYS) {
    Command command{{IB_USER_VERBS_CMD_REG_MR, 4, 1}, {0}};
    EXPECT_EQ(answer_uverbs_command(*context_, &command, sizeof command), -1);
    EXPECT_EQ(errno, ENOSYS);
    EXPECT_EQ(answer_uverbs_command(*context_, &command, 3), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(ChannelTest, ATruncatedCommandIsEINVAL) {
    Command command{{IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, 4, 1}, {0}};
    EXPECT_EQ(answer_uverbs_command(*context_, &command, sizeof command.header), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(ChannelTest, ArmingIsSeenByTheNicAndEventsArrive) {
    ibv_cq* cq = make_cq(8, &channel_);
    ASSERT_NE(cq, nullptr);
    EXPECT_EQ(req_notify_cq(cq, 1), 0);
    EXPECT_EQ(fake(cq).control()->armed, static_cast<std::uint32_t>(VROCE_ARM_SOLICITED));
    EXPECT_EQ(req_notify_cq(cq, 0), 0);
    EXPECT_EQ(fake(cq).control()->armed, static_cast<std::uint32_t>(VROCE_ARM_NEXT));
    nic_.send_comp_event(fake(cq));
    EXPECT_EQ(read_event(), cq);
    cq->comp_events_completed = 1;  // as ibv_ack_cq_events
    EXPECT_EQ(destroy_cq(cq), 0);
}

TEST_F(ChannelTest, DestructionLeavesNoEventThatNamesTheCq) {
    ibv_cq* doomed = make_cq(8, &channel_);
    ibv_cq* other = make_cq(8, &channel_);
    nic_.send_comp_event(fake(doomed));
    nic_.send_comp_event(fake(other));
    nic_.send_comp_event(fake(doomed));
    EXPECT_EQ(destroy_cq(doomed), 0) << "nothing was read, so nothing is to be acknowledged";
    EXPECT_EQ(read_event(), other);
    other->comp_events_completed = 1;
    EXPECT_EQ(destroy_cq(other), 0);
}

TEST_F(ChannelTest, AClosedChannelIsForgottenOnBothSides) {
    EXPECT_FALSE(context_->drop_channel(channel_.fd + 1000));
    EXPECT_TRUE(context_->drop_channel(channel_.fd));
    EXPECT_EQ(nic_.count(VROCE_DESTROY_CHANNEL), 1u);
    EXPECT_EQ(create_cq(verbs(), 8, &channel_, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    close(channel_.fd);
    channel_.fd = -1;
}

TEST_F(ChannelTest, ADescriptorClosedBehindOurBackMayComeAgain) {
    const int before = channel_.fd;
    close(channel_.fd);
    int again = -1;
    ASSERT_EQ(context_->create_channel(again), 0);
    EXPECT_EQ(again, before) << "the kernel gives the lowest free number";
    channel_.fd = again;
    EXPECT_EQ(nic_.count(VROCE_DESTROY_CHANNEL), 1u);
    ibv_cq* cq = make_cq(8, &channel_);
    nic_.send_comp_event(fake(cq));
    EXPECT_EQ(read_event(), cq);
    cq->comp_events_completed = 1;
    EXPECT_EQ(destroy_cq(cq), 0);
}

TEST_F(ChannelTest, TheDeathOfTheNicWakesWhoWaits) {
    ibv_cq* armed = make_cq(8, &channel_);
    ibv_cq* quiet = make_cq(8, &channel_);
    EXPECT_EQ(req_notify_cq(armed, 0), 0);
    nic_.die();
    EXPECT_EQ(read_event(), armed);
    EXPECT_EQ(req_notify_cq(armed, 0), 0);
    EXPECT_EQ(context_->find_channel(channel_.fd)->pipe.withdraw(reinterpret_cast<std::uint64_t>(armed)), 0u)
        << "there is nothing to flush";
    EXPECT_EQ(destroy_cq(armed), 0);
    EXPECT_EQ(destroy_cq(quiet), 0);
}

TEST_F(ChannelTest, WorkPostedOnADeadNicWakesWhoArmed) {
    ibv_cq* cq = make_cq(8, &channel_);
    ibv_qp* qp = make_qp(cq, 4, 4, IBV_QPS_RTS);
    nic_.die();
    wait_until_dead();
    EXPECT_EQ(req_notify_cq(cq, 0), 0);
    EXPECT_EQ(post_one_send(qp, 5), 0);
    EXPECT_EQ(read_event(), cq);
    EXPECT_EQ(req_notify_cq(cq, 0), 0);
    EXPECT_EQ(read_event(), cq) << "the posted request still waits to be flushed";
    ibv_wc wc{};
    EXPECT_EQ(poll_cq(cq, 1, &wc), 1);
    EXPECT_EQ(wc.wr_id, 5u);
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(destroy_qp(qp), 0);
    EXPECT_EQ(destroy_cq(cq), 0);
}

}  // namespace
}  // namespace vroce::provider::test
