// Application memory as it really is: another process, with holes, read-only pages, exec and death.
#include "nic/memory/process_memory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/nic_memory/application.hpp"
#include "tests/unit/nic_memory/slices.hpp"

namespace vroce::nic {
namespace {

constexpr CopyTag kTag{};

/// Access by pid takes a privilege from the thread that does it, for good; this one keeps it.
class ByPidElsewhere final : public AddressSpace {
public:
    explicit ByPidElsewhere(pid_t pid) : memory_(pid) {}
    CopyResult read(std::span<const RemotePiece> from, RoomSlices to, CopyTag tag) override {
        return elsewhere([&] { return memory_.read(from, to, tag); });
    }
    CopyResult write(std::span<const RemotePiece> to, ByteSlices from, std::size_t tail_bytes, CopyTag tag) override {
        return elsewhere([&] { return memory_.write(to, from, tail_bytes, tag); });
    }

private:
    static CopyResult elsewhere(const std::function<CopyResult()>& copy) {
        CopyResult result = CopyResult::Pending;
        std::thread([&] { result = copy(); }).join();
        return result;
    }
    PeerMemory memory_;
};

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
    CopyResult write(const std::vector<RemotePiece>& pieces, std::span<const std::uint8_t> bytes, std::size_t tail) {
        return memory_->write(pieces, cut_into_slices(bytes), tail, kTag);
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
    ASSERT_EQ(write(pieces, bytes, 64), CopyResult::Done);
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

TEST_P(ProcessMemory, PartsOfPagesAtEveryBorder) {
    for (std::size_t border = 4'096; border <= 3 * 4'096; border += 4'096) {
        for (std::size_t before = 0; before <= 2; ++before) {
            std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(5)};
            ASSERT_EQ(read({{at(border - before), 5}}, slices), CopyResult::Done);
            for (std::size_t i = 0; i < 5; ++i) ASSERT_EQ(slices[0][i], Application::byte_at(border - before + i));
        }
    }
}

TEST_P(ProcessMemory, AnEndIsWrittenAfterTheRestWhereverItIsCut) {
    std::vector<std::uint8_t> bytes(200);
    for (const std::size_t tail : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{200}}) {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i + tail);
        const std::vector<RemotePiece> pieces{{at(100), 150}, {at(5'000), 20}, {at(9'000), 30}};
        ASSERT_EQ(write(pieces, bytes, tail), CopyResult::Done);
        std::vector<std::vector<std::uint8_t>> back{std::vector<std::uint8_t>(200)};
        ASSERT_EQ(read(pieces, back), CopyResult::Done);
        ASSERT_EQ(back[0], bytes) << tail;
    }
    const std::vector<RemotePiece> piece{{at(0), 4}};
    EXPECT_EQ(write(piece, std::span(bytes).first(4), 5), CopyResult::Fault) << "more end than message";
}

TEST_P(ProcessMemory, ASharedMappingThatMayNotBeWrittenIsNot) {
    app_.do_in_child(Application::MapSharedReadOnly, 4'096, 4'096);
    const std::vector<std::uint8_t> bytes(8, 1);
    EXPECT_EQ(write(std::vector<RemotePiece>{{at(4'096), 8}}, bytes, 8), CopyResult::Fault);
    std::vector<std::vector<std::uint8_t>> back{std::vector<std::uint8_t>(8)};
    EXPECT_EQ(read({{at(4'096), 8}}, back), CopyResult::Done);
    EXPECT_EQ(back[0], std::vector<std::uint8_t>(8, 0));
}

// Pages of its own that an application made read-only after it registered them: hardware would write, having pinned
// them. The descriptor does too, the other way does not; neither says one thing and does the other.
TEST_P(ProcessMemory, PrivateMemoryMadeReadOnlyIsWrittenOrRefusedButNeverBoth) {
    app_.do_in_child(Application::MakeReadOnly, 4'096, 4'096);
    const std::vector<std::uint8_t> bytes(8, 0xEE);
    const CopyResult result = write(std::vector<RemotePiece>{{at(4'096), 8}}, bytes, 0);
    std::vector<std::vector<std::uint8_t>> back{std::vector<std::uint8_t>(8)};
    ASSERT_EQ(read({{at(4'096), 8}}, back), CopyResult::Done);
    EXPECT_EQ(result == CopyResult::Done, back[0] == bytes);
    EXPECT_NE(result, CopyResult::Pending);
}

TEST_P(ProcessMemory, OffsetsBeyondFourGibibytes) {
    app_.do_in_child(Application::TouchFar, 0, 0);
    const std::uint64_t data = app_.far_address() + Application::kFarData;
    std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(8'192)};
    ASSERT_EQ(read({{data, 8'192}}, slices), CopyResult::Done);
    for (std::size_t i = 0; i < 8'192; ++i) ASSERT_EQ(slices[0][i], Application::byte_at(i));
    const std::vector<std::uint8_t> bytes(100, 0x5A);
    const std::uint64_t end = app_.far_address() + Application::kFarBytes;
    EXPECT_EQ(write(std::vector<RemotePiece>{{end - 100, 100}}, bytes, 64), CopyResult::Done);
    EXPECT_EQ(write(std::vector<RemotePiece>{{end - 99, 100}}, bytes, 64), CopyResult::Fault);
}

TEST_P(ProcessMemory, PiecesLongerThanWhatIsThereForThemAreRefused) {
    std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(8)};
    EXPECT_EQ(read({{at(0), std::uint64_t{3} << 30}}, slices), CopyResult::Fault);
    EXPECT_EQ(read({{at(0), ~std::uint64_t{0}}}, slices), CopyResult::Fault);
    std::vector<std::vector<std::uint8_t>> many(AddressSpace::kPiecesMax + 1, std::vector<std::uint8_t>(1));
    EXPECT_EQ(read({{at(0), AddressSpace::kPiecesMax + 1}}, many), CopyResult::Fault);
    std::vector<RemotePiece> pieces(AddressSpace::kPiecesMax + 1, RemotePiece{at(0), 1});
    const std::vector<std::uint8_t> bytes(pieces.size());
    EXPECT_EQ(write(pieces, bytes, 0), CopyResult::Fault);
}

TEST_P(ProcessMemory, AnExitEndsEveryAccess) {
    app_.exit_and_wait();
    std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(8)};
    EXPECT_EQ(read({{at(0), 8}}, slices), CopyResult::Fault);
}

TEST_P(ProcessMemory, ExecEndsEveryAccess) {
    app_.do_in_child(Application::Exec, 0, 0);
    std::vector<std::vector<std::uint8_t>> slices{std::vector<std::uint8_t>(8)};
    EXPECT_EQ(read({{at(0), 8}}, slices), CopyResult::Fault);
    const std::vector<std::uint8_t> bytes(8, 1);
    EXPECT_EQ(write(std::vector<RemotePiece>{{at(0), 8}}, bytes, 0), CopyResult::Fault);
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
                                                   return std::make_unique<ByPidElsewhere>(app.pid());
                                               }}),
                         [](const ::testing::TestParamInfo<Way>& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace vroce::nic
