// What an endpoint publishes below class/, and the small tables behind it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "nic/host/arena.hpp"
#include "nic/host/gid_table.hpp"
#include "nic/host/port_state.hpp"
#include "tests/abi/nic_bench.hpp"

namespace vroce::test {
namespace {

namespace fs = std::filesystem;

std::string text(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

class TreeTest : public ::testing::Test {
protected:
    [[nodiscard]] std::string in_device(const std::string& name) const {
        return text(bench.directory() + "/class/infiniband/vroce0/" + name);
    }
    [[nodiscard]] std::string in_port(const std::string& name) const { return in_device("ports/1/" + name); }
    [[nodiscard]] timespec device_time() const {
        struct stat status {};
        stat((bench.directory() + "/class/infiniband/vroce0").c_str(), &status);
        return status.st_mtim;
    }
    NicBench bench;
};

TEST_F(TreeTest, HasWhatLibibverbsAndOthersLookFor) {
    const std::string verbs = bench.directory() + "/class/infiniband_verbs";
    EXPECT_EQ(text(verbs + "/abi_version"), "6\n");
    EXPECT_EQ(text(verbs + "/uverbs0/ibdev"), "vroce0\n");
    EXPECT_EQ(text(verbs + "/uverbs0/dev"), "1:7\n");
    EXPECT_EQ(text(verbs + "/uverbs0/abi_version"), "1\n");
    EXPECT_EQ(text(bench.directory() + "/class/misc/rdma_cm/abi_version"), "4\n");
    EXPECT_EQ(in_device("node_type"), "1: CA\n");
    EXPECT_EQ(in_device("node_guid"), "0000:00ff:fe00:0001\n");
    EXPECT_EQ(in_device("session"), bench.session_path() + "\n");
    EXPECT_EQ(in_device("device/vendor"), "0x1234\n");
    EXPECT_TRUE(fs::is_directory(bench.directory() + "/class/infiniband/vroce0/device/net/eth0"));
    EXPECT_EQ(in_port("state"), "4: ACTIVE\n");
    EXPECT_EQ(in_port("rate"), "10 Gb/sec (1X FDR10)\n");
    EXPECT_EQ(in_port("link_layer"), "Ethernet\n");
    EXPECT_EQ(in_port("pkeys/0"), "0xffff\n");
    EXPECT_EQ(in_port("hw_counters/rx_drop_icrc"), "0\n");
    EXPECT_EQ(in_port("counters/port_rcv_data"), "0\n");
    for (int i = 0; i < 16; ++i) {
        EXPECT_EQ(in_port("gids/" + std::to_string(i)).size(), 40u) << i;
        EXPECT_EQ(in_port("gid_attrs/types/" + std::to_string(i)), "RoCE v2\n") << i;
    }
    EXPECT_FALSE(fs::exists(bench.directory() + "/class/infiniband/vroce0/ports/1/gids/16"));
}

TEST_F(TreeTest, GidsFollowTheInterface) {
    EXPECT_EQ(in_port("gids/0"), "fe80:0000:0000:0000:0000:00ff:fe00:0001\n");
    EXPECT_EQ(in_port("gids/1"), "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
    EXPECT_EQ(in_port("gid_attrs/ndevs/1"), "eth0\n");
    EXPECT_EQ(in_port("gid_attrs/ndevs/2"), "");
    bench.on_control([&] { bench.endpoint().set_addresses({}); });
    EXPECT_EQ(in_port("gids/1"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
    EXPECT_EQ(in_port("gid_attrs/ndevs/1"), "");
}

TEST_F(TreeTest, TheDeviceStaysTheSameWhateverChangesBelow) {
    const timespec before = device_time();
    bench.on_control([&] {
        bench.endpoint().set_addresses({});
        bench.endpoint().set_link(false, 1'500);
    });
    EXPECT_EQ(in_port("state"), "1: DOWN\n");
    EXPECT_EQ(in_port("phys_state"), "3: Disabled\n");
    EXPECT_EQ(device_time().tv_sec, before.tv_sec);
    EXPECT_EQ(device_time().tv_nsec, before.tv_nsec);
}

TEST_F(TreeTest, ASecondProcessIsRefused) {
    bench.on_control([&] {
        const auto second = nic::Endpoint::create(NicBench::config(bench.directory()), bench.services());
        ASSERT_FALSE(second);
        EXPECT_NE(second.error().find("another process"), std::string::npos);
    });
    EXPECT_EQ(in_device("node_type"), "1: CA\n") << "and does not take the first one's tree with it";
}

TEST_F(TreeTest, ARestartKeepsTheDeviceAndDropsWhatIsOld) {
    // What a killed process left: everything, and a device of another name.
    const std::string directory = bench.directory() + "-old";
    fs::create_directories(directory + "/class/infiniband/vroce7");
    fs::create_directories(directory + "/class/infiniband_verbs/uverbs9");
    fs::copy(bench.directory() + "/class", directory + "/class",
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    std::ofstream(directory + "/session.sock") << "stale";
    struct stat before {};
    ASSERT_EQ(stat((directory + "/class/infiniband/vroce0/node_type").c_str(), &before), 0);
    bench.on_control([&] {
        auto again = nic::Endpoint::create(NicBench::config(directory), bench.services());
        ASSERT_TRUE(again) << again.error();
        struct stat after {};
        ASSERT_EQ(stat((directory + "/class/infiniband/vroce0/node_type").c_str(), &after), 0);
        EXPECT_EQ(after.st_ino, before.st_ino) << "overlays that show it go on doing so";
        EXPECT_FALSE(fs::exists(directory + "/class/infiniband/vroce7"));
        EXPECT_FALSE(fs::exists(directory + "/class/infiniband_verbs/uverbs9"));
        EXPECT_EQ(text(directory + "/class/infiniband/vroce0/ports/1/state"), "1: DOWN\n");
    });
    EXPECT_FALSE(fs::exists(directory + "/class"));
    fs::remove_all(directory);
}

TEST(GidTable, KeepsIndexes) {
    nic::GidTable table(nic::MacAddress{{2, 0, 0, 0, 0, 1}});
    const auto ip = [](std::uint8_t last) {
        return nic::Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last}};
    };
    EXPECT_EQ(table.set({ip(1), ip(2), ip(3)}), (std::vector<std::size_t>{1, 2, 3}));
    EXPECT_EQ(table.set({ip(3), ip(1)}), (std::vector<std::size_t>{2}));
    EXPECT_EQ(table.at(3), ip(3));
    EXPECT_EQ(table.set({ip(3), ip(4), ip(1)}), (std::vector<std::size_t>{2}));
    EXPECT_EQ(table.at(2), ip(4));
    EXPECT_TRUE(table.set({ip(3), ip(4), ip(1), table.at(0)}).empty()) << "the link-local one is there already";
    std::vector<nic::Gid> many;
    for (std::uint8_t i = 1; i < 100; ++i) many.push_back(ip(i));
    table.set(many);
    EXPECT_EQ(table.in_use().size(), nic::GidTable::kEntries);
}

TEST(GidTable, KnowsTheMacInALinkLocalAddress) {
    const nic::MacAddress mac{{0x52, 0x54, 0, 0x12, 0x34, 0x56}};
    EXPECT_EQ(nic::mac_of_link_local(nic::link_local_gid(mac)), mac);
    nic::Gid other = nic::link_local_gid(mac);
    other.bytes[11] = 0;
    EXPECT_FALSE(nic::mac_of_link_local(other));
}

TEST(PortState, TheMtuThatFits) {
    EXPECT_EQ(nic::active_mtu(4'200), 5u);
    EXPECT_EQ(nic::active_mtu(4'180), 5u);
    EXPECT_EQ(nic::active_mtu(4'179), 4u);
    EXPECT_EQ(nic::active_mtu(1'500), 3u);
    EXPECT_EQ(nic::active_mtu(68), 1u);
}

TEST(PortState, TheRateIsNotAboveTheSpeed) {
    EXPECT_STREQ(nic::port_rate(10'000'000'000).text, "10 Gb/sec (1X FDR10)");
    EXPECT_STREQ(nic::port_rate(99'000'000'000).text, "50 Gb/sec (1X HDR)");
    EXPECT_STREQ(nic::port_rate(400'000'000'000).text, "400 Gb/sec (4X NDR)");
}

TEST(ArenaSet, GrowsReusesAndMerges) {
    nic::ArenaSet arenas(8 * 1024 * 1024);
    const auto first = arenas.allocate(100);
    ASSERT_TRUE(first);
    EXPECT_GE(first->new_fd, 0);
    const auto again = arenas.allocate(100);
    EXPECT_EQ(again->new_fd, first->new_fd) << "not announced yet";
    arenas.announced(first->arena);
    const auto second = arenas.allocate(1'000'000);
    EXPECT_EQ(second->new_fd, -1);
    EXPECT_EQ(arenas.arenas(), 1u);
    EXPECT_EQ(arenas.allocate(1'000'000)->arena, 1u);
    EXPECT_FALSE(arenas.allocate(7 * 1024 * 1024)) << "beyond the limit";
    arenas.free(0, first->offset);
    arenas.free(0, second->offset);
    arenas.free(0, again->offset);
    EXPECT_EQ(arenas.allocate(1024 * 1024)->offset, 0u) << "the whole arena again";
}

TEST(ArenaSet, CannotBeShrunkUnderUs) {
    nic::ArenaSet arenas;
    const auto place = arenas.allocate(100);
    ASSERT_TRUE(place);
    EXPECT_NE(ftruncate(place->new_fd, 0), 0);
    EXPECT_NE(ftruncate(place->new_fd, 1 << 30), 0);
}

TEST(StatusPage, IsReadOnlyForOthers) {
    auto page = nic::StatusPage::create(1);
    ASSERT_TRUE(page);
    const int fd = (*page)->fd();
    EXPECT_EQ(mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    void* view = mmap(nullptr, 4'096, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(view, MAP_FAILED);
    EXPECT_NE(mprotect(view, 4'096, PROT_READ | PROT_WRITE), 0);
    const auto& status = *static_cast<vroce_status_page*>(view);
    EXPECT_EQ(status.worker[0].sleeping, 0u);
    (*page)->set_sleeping(0, true);
    EXPECT_EQ(status.worker[0].sleeping, 1u);
    munmap(view, 4'096);
}

}  // namespace
}  // namespace vroce::test
