// The plugin as applications meet it: found, opened and used through the stock libibverbs, over a sysfs tree and a
// device node in a mount namespace of the test's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/provider/fake_nic.hpp"

namespace vroce::provider::test {
namespace {

namespace fs = std::filesystem;

void write_line(const fs::path& file, const std::string& line) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << line << "\n";
}

/// In a user namespace of our own we are root, or files could not even be created.
void become_root_of_namespace(uid_t uid, gid_t gid) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
}

/// /sys and /dev as the plugin's users see them; empty, or why that can't be had here.
std::string enter_view(const fs::path& stage) {
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    const int flags = uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (unshare(flags) != 0) return std::string("no private mount namespace: ") + std::strerror(errno);
    if (uid != 0) become_root_of_namespace(uid, gid);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "cannot make mounts private";
    fs::create_directories(stage);
    if (mount("tmpfs", stage.c_str(), "tmpfs", 0, nullptr) != 0) return "cannot mount a tmpfs";
    fs::create_directories(stage / "infiniband");
    for (const char* node : {"null", "zero", "full", "urandom"}) {
        std::ofstream(stage / node);
        if (mount((fs::path("/dev") / node).c_str(), (stage / node).c_str(), nullptr, MS_BIND, nullptr) != 0) {
            return std::string("cannot bind /dev/") + node;
        }
    }
    std::ofstream(stage / "infiniband/uverbs0");
    if (mount("/dev/full", (stage / "infiniband/uverbs0").c_str(), nullptr, MS_BIND, nullptr) != 0) {
        return "cannot bind the device node";
    }
    return mount(stage.c_str(), "/dev", nullptr, MS_MOVE, nullptr) == 0 ? "" : "cannot replace /dev";
}

class Device : public testing::Test {
protected:
    static void SetUpTestSuite() {
        if (root_ != nullptr) return;  // libibverbs keeps the path that it saw first
        std::atexit(remove_tree);
        char directory[] = "/tmp/vroce-device-test-XXXXXX";
        root_ = new std::string(mkdtemp(directory));
        why_not_ = new std::string(enter_view(fs::path(*root_) / "dev"));
        setenv("SYSFS_PATH", root_->c_str(), 1);
        const char* plugin = std::getenv("VROCE_PLUGIN");
        if (plugin == nullptr) {
            *why_not_ = "VROCE_PLUGIN does not name the plugin";
            return;
        }
        std::string name = plugin;
        name.resize(name.size() - std::strlen("-rdmav34.so"));
        setenv("RDMAV_DRIVERS", name.c_str(), 1);
        write_line(sys() / "infiniband_verbs/abi_version", "6");
        write_line(sys() / "infiniband_verbs/uverbs0/ibdev", "any_name0");
        write_line(sys() / "infiniband_verbs/uverbs0/dev", "1:7");
        write_line(sys() / "infiniband_verbs/uverbs0/abi_version", "1");
        write_line(sys() / "infiniband/any_name0/node_type", "1: CA");
        write_line(sys() / "infiniband/any_name0/session", "/nowhere");
    }
    static void remove_tree() {
        std::error_code ignored;
        fs::remove_all(*root_, ignored);
    }
    static fs::path sys() { return fs::path(*root_) / "class"; }

    void SetUp() override {
        if (!why_not_->empty()) GTEST_SKIP() << *why_not_;
        list_ = ibv_get_device_list(nullptr);
        ASSERT_NE(list_, nullptr);
        ASSERT_NE(list_[0], nullptr) << "the plugin did not take the device";
    }
    void TearDown() override {
        if (list_ != nullptr) ibv_free_device_list(list_);
    }
    ibv_context* open_on(const std::string& socket_path) {
        // The content changes, not the directory: libibverbs drops a device whose directory changed.
        std::ofstream(sys() / "infiniband/any_name0/session") << socket_path << "\n";
        return ibv_open_device(list_[0]);
    }
    static std::string* root_;
    static std::string* why_not_;
    ibv_device** list_ = nullptr;
    FakeNic nic_;
};
std::string* Device::root_ = nullptr;
std::string* Device::why_not_ = nullptr;

TEST_F(Device, SaysThatTheNicIsNotRunning) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(open_on("/nowhere/session.sock"), nullptr);
    EXPECT_EQ(errno, ENODEV);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("the NIC process is not running"), std::string::npos);
}

TEST_F(Device, SaysThatTheSessionFileIsNoPath) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(open_on("relative"), nullptr);
    EXPECT_EQ(errno, ENODEV);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("absolute path is expected"), std::string::npos);
}

TEST_F(Device, OpensAndAnswers) {
    ibv_context* context = open_on(nic_.socket_path());
    ASSERT_NE(context, nullptr);
    EXPECT_EQ(context->num_comp_vectors, 2);
    ibv_device_attr attr{};
    EXPECT_EQ(ibv_query_device(context, &attr), 0);
    EXPECT_EQ(attr.phys_port_cnt, 1);
    ibv_port_attr port{};
    EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
    EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
    EXPECT_EQ(ibv_close_device(context), 0);
}

TEST_F(Device, WhatIsNotThereIsEOPNOTSUPP) {
    ibv_context* context = open_on(nic_.socket_path());
    ASSERT_NE(context, nullptr);
    ibv_pd* pd = ibv_alloc_pd(context);
    ASSERT_NE(pd, nullptr);
    ibv_srq_init_attr srq{};
    srq.attr = {1, 1, 0};
    EXPECT_EQ(ibv_create_srq(pd, &srq), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_ah_attr ah{};
    EXPECT_EQ(ibv_create_ah(pd, &ah), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    ibv_cq_init_attr_ex cq{};
    cq.cqe = 4;
    EXPECT_EQ(ibv_create_cq_ex(context, &cq), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
}

TEST_F(Device, ACompletionChannelWorksThroughTheLibrary) {
    ibv_context* context = open_on(nic_.socket_path());
    ASSERT_NE(context, nullptr);
    ibv_comp_channel* channel = ibv_create_comp_channel(context);
    ASSERT_NE(channel, nullptr);
    struct stat status {};
    ASSERT_EQ(fstat(channel->fd, &status), 0);
    EXPECT_TRUE(S_ISFIFO(status.st_mode));
    int mark = 0;
    ibv_cq* cq = ibv_create_cq(context, 8, &mark, channel, 0);
    ASSERT_NE(cq, nullptr);
    EXPECT_EQ(ibv_req_notify_cq(cq, 0), 0);
    nic_.send_comp_event(nic_.cq(cq->handle));
    ibv_cq* got = nullptr;
    void* got_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel, &got, &got_context), 0);
    EXPECT_EQ(got, cq);
    EXPECT_EQ(got_context, &mark);
    ibv_ack_cq_events(cq, 1);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    EXPECT_EQ(nic_.count(VROCE_DESTROY_CHANNEL), 1u);
    EXPECT_EQ(ibv_close_device(context), 0);
}

TEST_F(Device, TheDeathOfTheNicIsAnEventAndNoMore) {
    ibv_context* context = open_on(nic_.socket_path());
    ASSERT_NE(context, nullptr);
    ibv_pd* pd = ibv_alloc_pd(context);
    ibv_comp_channel* channel = ibv_create_comp_channel(context);
    ibv_cq* cq = ibv_create_cq(context, 8, nullptr, channel, 0);
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq;
    attr.cap = {1, 1, 1, 1, 0};
    attr.qp_type = IBV_QPT_RC;
    ibv_qp* qp = ibv_create_qp(pd, &attr);
    ASSERT_NE(qp, nullptr);
    ibv_qp_attr to_init{};
    to_init.qp_state = IBV_QPS_INIT;
    EXPECT_EQ(ibv_modify_qp(qp, &to_init, IBV_QP_STATE), 0);
    ibv_recv_wr wr{};
    wr.wr_id = 3;
    ibv_recv_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
    EXPECT_EQ(ibv_req_notify_cq(cq, 0), 0);
    nic_.die();
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(context, &event), 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
    ibv_ack_async_event(&event);
    void* ignored = nullptr;
    ibv_cq* got = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel, &got, &ignored), 0);
    ibv_ack_cq_events(got, 1);
    ibv_wc wc{};
    ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
    EXPECT_EQ(wc.wr_id, 3u);
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    EXPECT_EQ(ibv_dealloc_pd(pd), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
}

TEST_F(Device, LeavesNoDescriptorBehind) {
    const auto open_descriptors = [] {
        return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    };
    const auto before = open_descriptors();
    ibv_context* context = open_on(nic_.socket_path());
    ASSERT_NE(context, nullptr);
    ibv_comp_channel* channel = ibv_create_comp_channel(context);
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    EXPECT_EQ(ibv_close_device(context), 0);
    nic_.die();
    EXPECT_LE(open_descriptors(), before);
}

}  // namespace
}  // namespace vroce::provider::test
