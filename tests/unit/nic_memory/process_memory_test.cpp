// Application memory as it really is: another process, with holes, read-only pages, exec and death.
#include "nic/memory/process_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/nic_memory/application.hpp"

namespace vroce::nic {
namespace {

constexpr CopyTag kTag{};

using Make = std::unique_ptr<AddressSpace> (*)(const Application&);
struct Way {
    const char* name;
    Make make;
};

class ProcessMemory : public ::testing::TestWithParam<Way> {
protected:
    Application app_;
    std::unique_ptr<AddressSpace> memory_ = GetParam().make(app_);

    [[nodiscard]] std::uint64_t at(std::size_t offset) const { return app_.address() + offset; }
    CopyResult read(std::vector<RemotePiece> pieces, std::vector<std::vector<std::uint8_t>>& slices) {
        std::vector<std::span<std::uint8_t>> spans;
        for (auto& slice : slices) spans.emplace_back(slice);
        return memory_->read(pieces, spans, kTag);
    }
};

TEST_P(ProcessMemory, SeveralPiecesLandInSeveralSlicesInOrder) {
    std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(5), std::vector<std::uint8_t>(0),
                                                  std::vector<std::uint8_t>(4'091)};
    ASSERT_EQ(read({{at(10), 3}, {at(100), 0}, {at(200), 4'093}}, slices), CopyResult::Done);
    std::vector<std::uint8_t> all(slices[0]);
    all.insert(all.end(), slices[2].begin(), slices[2].end());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t offset = i < 3 ? 10 + i : 200 + i - 3;
        ASSERT_EQ(all[i], Application::byte_at(offset)) << i;
    }
}

TEST_P(ProcessMemory, WritesArriveWithTheirTail) {
    std::vector<std::uint8_t> bytes(1'000);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{7});
    const std::vector<RemotePiece> pieces{{at(4'000), 990}, {at(9'000), 10}};
    ASSERT_EQ(memory_->write(pieces, bytes, 64, kTag), CopyResult::Done);
    std::vector<std::vector<std::uint8_t>> back{std::vector<std::uint8_t>(1'000)};
    ASSERT_EQ(read(pieces, back), CopyResult::Done);
    EXPECT_EQ(back[0], bytes);
}

TEST_P(ProcessMemory, AHoleIsAFaultAndPagesBesideItAreNot) {
    app_.do_in_child(Application::Unmap, 4'096, 4'096);
    std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(2)};
    EXPECT_EQ(read({{at(4'095), 2}}, slices), CopyResult::Fault);
    EXPECT_EQ(read({{at(4'094), 2}}, slices), CopyResult::Done);
    EXPECT_EQ(read({{at(8'192), 2}}, slices), CopyResult::Done);
}

TEST_P(ProcessMemory, ExecEndsEveryAccess) {
    app_.do_in_child(Application::Exec, 0, 0);
    std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(8)};
    EXPECT_EQ(read({{at(0), 8}}, slices), CopyResult::Fault);
    const std::vector<std::uint8_t> bytes(8, 1);
    EXPECT_EQ(memory_->write(std::vector<RemotePiece>{{at(0), 8}}, bytes, 0, kTag), CopyResult::Fault);
}

TEST_P(ProcessMemory, DeathEndsEveryAccess) {
    app_.kill_now();
    std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(8)};
    EXPECT_EQ(read({{at(0), 8}}, slices), CopyResult::Fault);
}

TEST_P(ProcessMemory, AddressesThatNobodyHasAreFaults) {
    std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(8)};
    for (const std::uint64_t addr :
         {std::uint64_t{0}, std::uint64_t{1} << 62, std::uint64_t{1} << 63, ~std::uint64_t{7}})
        EXPECT_EQ(read({{addr, 8}}, slices), CopyResult::Fault) << addr;
}

INSTANTIATE_TEST_SUITE_P(Ways, ProcessMemory,
                         ::testing::Values(Way{"HandedDescriptor",
                                               [](const Application& app) -> std::unique_ptr<AddressSpace> {
                                                   return std::make_unique<HandedMemory>(app.take_mem_fd());
                                               }},
                                           Way{"ByPid",
                                               [](const Application& app) -> std::unique_ptr<AddressSpace> {
                                                   return std::make_unique<PeerMemory>(app.pid());
                                               }}),
                         [](const ::testing::TestParamInfo<Way>& way) { return std::string(way.param.name); });

TEST(MayUsePid, EqualsMay) {
    const Application app;
    EXPECT_TRUE(may_use_pid(app.pid()));
}

TEST(MayUsePid, ALesserUserMayNot) {
    if (getuid() != 0) GTEST_SKIP() << "needs root to become another user";
    Application app;
    app.do_in_child(Application::BecomeNobody, 0, 0);
    EXPECT_FALSE(may_use_pid(app.pid()));
}

TEST(MayUsePid, ADeadProcessMayNot) {
    Application app;
    app.kill_now();
    EXPECT_FALSE(may_use_pid(app.pid()));
}

}  // namespace
}  // namespace vroce::nic
