#include "provider/src/session.hpp"

#include <gtest/gtest.h>

#include "tests/unit/provider/opened_device.hpp"

namespace vroce::provider::test {
namespace {

TEST(Session, SaysWhyItCannotConnect) {
    Session absent;
    EXPECT_EQ(absent.connect("/nowhere/session.sock"), ENOENT);
    Session long_path;
    EXPECT_EQ(long_path.connect(std::string(200, 'x').c_str()), ENAMETOOLONG);
}

TEST(ContextOpen, IsENODEVWhenTheNicIsNotThere) {
    ContextBlock block{};
    Context context(block.verbs, "vroce0");
    testing::internal::CaptureStderr();
    EXPECT_EQ(context.open("/nowhere/session.sock"), ENODEV);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("vroce: vroce0: the NIC process is not running at /nowhere/session.sock"), std::string::npos);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST(ContextOpen, NamesBothVersionsWhenTheyDiffer) {
    FakeNic nic;
    nic.major = 9;
    ContextBlock block{};
    Context context(block.verbs, "vroce0");
    testing::internal::CaptureStderr();
    EXPECT_EQ(context.open(nic.socket_path().c_str()), EPROTO);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("the plugin speaks ABI 1.0, the NIC process 9.0"), std::string::npos) << said;
}

class SessionTest : public OpenedDevice {};

TEST_F(SessionTest, HandsOverItsMemory) {
    const std::uint64_t secret = 0x1122334455667788;
    std::uint64_t seen = 0;
    ASSERT_EQ(pread(nic_.memory_fd(), &seen, sizeof seen, reinterpret_cast<off_t>(&secret)), 8);
    EXPECT_EQ(seen, secret);
}

TEST_F(SessionTest, PassesTheNicsErrnoOn) {
    nic_.refuse[VROCE_ALLOC_PD] = ENOMEM;
    EXPECT_EQ(alloc_pd(verbs()), nullptr);
    EXPECT_EQ(errno, ENOMEM);
}

TEST_F(SessionTest, AnswersEIOOnceTheNicIsGone) {
    nic_.die();
    vroce_simple_request request{};
    vroce_simple_reply reply{};
    EXPECT_EQ(context_->session.call(VROCE_ALLOC_PD, request, reply), EIO);
    EXPECT_EQ(context_->session.call(VROCE_ALLOC_PD, request, reply), EIO);
    wait_until_dead();
}

TEST_F(SessionTest, GivesDeviceAttributesOfAnySize) {
    ibv_device_attr_ex full;
    std::memset(&full, 0xFF, sizeof full);
    ASSERT_EQ(query_device_ex(verbs(), nullptr, &full, sizeof full), 0);
    EXPECT_EQ(full.orig_attr.vendor_id, 0x1234u);
    EXPECT_EQ(full.orig_attr.phys_port_cnt, 1);
    EXPECT_EQ(full.phys_port_cnt_ex, 1u);
    EXPECT_EQ(full.orig_attr.atomic_cap, IBV_ATOMIC_NONE);
    EXPECT_EQ(full.odp_caps.general_caps, 0u);
    EXPECT_EQ(query_device_ex(verbs(), nullptr, &full, sizeof(ibv_device_attr)), 0);
    EXPECT_EQ(query_device_ex(verbs(), nullptr, &full, 8), EINVAL);
}

TEST_F(SessionTest, KnowsItsPortsOnly) {
    ibv_port_attr attr{};
    EXPECT_EQ(query_port(verbs(), 1, &attr), 0);
    EXPECT_EQ(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
    EXPECT_EQ(attr.active_mtu, IBV_MTU_4096);
    EXPECT_EQ(query_port(verbs(), 0, &attr), EINVAL);
    EXPECT_EQ(query_port(verbs(), 2, &attr), EINVAL);
}

}  // namespace
}  // namespace vroce::provider::test
