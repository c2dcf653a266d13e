// Random programs between two engines over a bad link, every byte and completion compared with what the operations
// mean. The seed is in the name of a failing case; the same seed runs the same way again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/protocol/kit/fabric.hpp"

namespace vroce::nic::test {
namespace {

constexpr std::size_t kLongest = 64 * 1'024;
constexpr std::size_t kWriteArea = 256 * 1'024;  // WRITEs land below, READs read above
constexpr std::size_t kReadArea = 128 * 1'024;

/// One direction's program, and what must have become of it.
struct Program {
    struct Received {
        std::vector<std::uint8_t> data;  ///< of a SEND
        std::string completion;
    };
    std::vector<std::string> completions;
    std::vector<Received> received;
    std::vector<std::uint8_t> written = std::vector<std::uint8_t>(kWriteArea);
    std::map<std::uint32_t, std::vector<std::uint8_t>> read;  ///< by WQE index
};

std::size_t random_size(std::mt19937_64& random, std::size_t longest) {
    switch (random() % 4) {
        case 0:
            return random() % 65;
        case 1:
            return random() % 4'200;
        case 2:
            return std::min<std::size_t>(longest, (random() % 5) * 4'096 + random() % 3);
        default:
            return random() % (longest + 1);
    }
}

void post_one(std::mt19937_64& random, TestEnv& from, TestEnv& to, Program& program, std::size_t longest) {
    const auto opcode = static_cast<WrOpcode>(random() % 5);
    const std::size_t size = random_size(random, longest);
    const auto data = pattern(size, static_cast<std::uint32_t>(random()));
    std::uint8_t flags = random() % 3 == 0 ? 0 : kSendSignaled;
    if (random() % 8 == 0) flags |= kSendFence;
    const bool reads = opcode == WrOpcode::Read;
    const std::size_t room = reads ? kReadArea : kWriteArea;
    const std::size_t offset = (reads ? kWriteArea : 0) + random() % (room - size + 1);
    const SendWqe& wqe = from.post(opcode, reads ? std::vector<std::uint8_t>(size) : data, flags, offset);
    const bool imm = opcode == WrOpcode::SendImm || opcode == WrOpcode::WriteImm;
    const bool send = opcode == WrOpcode::Send || opcode == WrOpcode::SendImm;
    if ((flags & kSendSignaled) != 0) program.completions.push_back(fmt::format("{} ok", wqe.wr_id));
    if (reads)
        program.read[wqe.index] = {to.region.begin() + static_cast<std::ptrdiff_t>(offset),
                                   to.region.begin() + static_cast<std::ptrdiff_t>(offset + size)};
    if (opcode == WrOpcode::Write || opcode == WrOpcode::WriteImm)
        std::copy(data.begin(), data.end(), program.written.begin() + static_cast<std::ptrdiff_t>(offset));
    if (send || imm)
        program.received.push_back(
            {send ? data : std::vector<std::uint8_t>{},
             fmt::format("{} ok {} {}{}", 2'000 + program.received.size(), send ? "recv" : "write-imm", size,
                         imm ? fmt::format(" imm {:#x}", wqe.imm) : "")});
}

void check(const TestEnv& from, const TestEnv& to, const Program& program) {
    std::vector<std::string> sent;
    std::vector<std::string> received;
    for (const Completion& completion : from.completions)
        if (!completion.receive) sent.push_back(brief(completion));
    for (const Completion& completion : to.completions)
        if (completion.receive) received.push_back(brief(completion));
    EXPECT_EQ(sent, program.completions);
    ASSERT_EQ(received.size(), program.received.size());
    for (std::size_t i = 0; i < received.size(); ++i) {
        EXPECT_EQ(received[i], program.received[i].completion);
        const auto& data = program.received[i].data;
        EXPECT_TRUE(std::equal(data.begin(), data.end(), to.receives[i].room.begin())) << "receive " << i;
    }
    EXPECT_TRUE(std::equal(program.written.begin(), program.written.end(), to.region.begin())) << "written memory";
    for (const auto& [index, data] : program.read) EXPECT_TRUE(from.sends[index].data == data) << "READ " << index;
}

void prepare(TestEnv& env, std::uint32_t seed) {
    env.region = pattern(kWriteArea + kReadArea, seed);
    std::fill_n(env.region.begin(), kWriteArea, std::uint8_t{0});
}

struct Case {
    std::string name;
    Faults faults;
    std::uint32_t mtu;
    bool late_receives = false;
    bool ipv6 = false;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

class LossyFabric : public testing::TestWithParam<std::tuple<Case, std::uint64_t>> {};

TEST_P(LossyFabric, EveryByteAndCompletionIsRight) {
    const auto& [c, seed] = GetParam();
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    Fabric fabric({.seed = seed, .faults = c.faults, .mtu = c.mtu, .pairs = 2, .ipv6 = c.ipv6});
    std::vector<Program> programs(4);
    for (std::size_t pair = 0; pair < 2; ++pair) {
        TestEnv& a = *fabric.a.envs[pair];
        TestEnv& b = *fabric.b.envs[pair];
        prepare(a, static_cast<std::uint32_t>(random()));
        prepare(b, static_cast<std::uint32_t>(random()));
        for (int i = 0; i < 40; ++i) {
            post_one(random, a, b, programs[2 * pair], kLongest);
            post_one(random, b, a, programs[2 * pair + 1], kLongest);
        }
        const std::size_t at_once = c.late_receives ? 3 : 1'000;
        for (std::size_t i = 0; i < std::min(at_once, programs[2 * pair].received.size()); ++i)
            b.post_receive(kLongest);
        for (std::size_t i = 0; i < std::min(at_once, programs[2 * pair + 1].received.size()); ++i)
            a.post_receive(kLongest);
    }
    fabric.ring_all();
    if (c.late_receives) {
        const auto feed = [&](TestEnv& env, const Program& program) {
            if (env.receives.size() >= program.received.size()) return false;
            env.post_receive(kLongest);
            return true;
        };
        for (bool missing = true; missing;) {
            static_cast<void>(fabric.run(30));
            missing = false;
            for (std::size_t pair = 0; pair < 2; ++pair) {
                missing |= feed(*fabric.b.envs[pair], programs[2 * pair]);
                missing |= feed(*fabric.a.envs[pair], programs[2 * pair + 1]);
            }
        }
    }
    ASSERT_TRUE(fabric.run()) << "it does not come to rest";
    for (std::size_t pair = 0; pair < 2; ++pair) {
        check(*fabric.a.envs[pair], *fabric.b.envs[pair], programs[2 * pair]);
        check(*fabric.b.envs[pair], *fabric.a.envs[pair], programs[2 * pair + 1]);
    }
    if (c.late_receives) {
        EXPECT_GT(fabric.b.engine.counters()[EngineCounter::RxNoReceive], 0U);
    }
    EXPECT_EQ(fabric.a.engine.next_deadline(), kNever);
    EXPECT_EQ(fabric.b.engine.next_deadline(), kNever);
    EXPECT_EQ(fabric.pool.in_use(), 0U);
}

const Case kCases[] = {
    {"clean_256", {}, 256},
    {"clean_4096", {}, 4'096},
    {"loss_half_percent_1024", {.drop = 0.005}, 1'024},
    {"loss_5_percent_4096", {.drop = 0.05}, 4'096},
    {"loss_5_percent_256", {.drop = 0.05}, 256, false, true},
    {"duplicates_1024", {.duplicate = 0.1}, 1'024},
    {"reordering_2048", {.reorder = 0.05}, 2'048},
    {"corruption_512", {.corrupt = 0.03}, 512},
    {"everything_1024", {.drop = 0.01, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.01}, 1'024},
    {"everything_ipv6_4096", {.drop = 0.02, .duplicate = 0.02, .reorder = 0.02, .corrupt = 0.01}, 4'096, false, true},
    {"late_receives_1024", {.drop = 0.005}, 1'024, true},
};

/// VROCE_SEEDS=1000 makes a soak of it.
std::uint64_t seeds() {
    const char* wanted = std::getenv("VROCE_SEEDS");
    return wanted == nullptr ? 6 : std::strtoull(wanted, nullptr, 10);
}

TEST(LossyLink, LongMessagesArriveWhole) {
    for (const std::uint32_t mtu : {256U, 4'096U}) {
        const Faults bad{.drop = 0.01, .duplicate = 0.01, .reorder = 0.005, .corrupt = 0.005};
        Fabric fabric({.seed = mtu, .faults = bad, .mtu = mtu});
        TestEnv& a = *fabric.a.envs[0];
        TestEnv& b = *fabric.b.envs[0];
        const std::size_t size = 2'500'001;
        b.region = pattern(size, 1);
        b.post_receive(size);
        a.post(WrOpcode::Read, std::vector<std::uint8_t>(size));
        a.post(WrOpcode::SendImm, pattern(size, 2));
        a.post(WrOpcode::Write, pattern(size, 3), kSendSignaled | kSendFence);
        fabric.ring_all();
        ASSERT_TRUE(fabric.run());
        EXPECT_EQ(a.completions.size(), 3U);
        EXPECT_EQ(a.completions.back().status, WcStatus::Success);
        EXPECT_TRUE(a.sends[0].data == pattern(size, 1));
        EXPECT_TRUE(b.receives[0].room == pattern(size, 2));
        EXPECT_TRUE(b.region == pattern(size, 3));
    }
}

std::string case_name(const testing::TestParamInfo<std::tuple<Case, std::uint64_t>>& of) {
    return fmt::format("{}_seed_{}", std::get<0>(of.param).name, std::get<1>(of.param));
}

INSTANTIATE_TEST_SUITE_P(Programs, LossyFabric,
                         testing::Combine(testing::ValuesIn(kCases), testing::Range<std::uint64_t>(1, 1 + seeds())),
                         case_name);

}  // namespace
}  // namespace vroce::nic::test
