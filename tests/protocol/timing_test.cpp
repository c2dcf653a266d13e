// The two timer tables, by value and by behaviour.
#include "nic/transport/timing.hpp"

#include <gtest/gtest.h>

#include "tests/protocol/kit/script.hpp"

namespace vroce::nic::test {
namespace {

/// IBTA table 45, in milliseconds as printed there.
constexpr double kRnrMs[32] = {655.36, 0.01,  0.02,  0.03,  0.04,  0.06,   0.08,   0.12,   0.16,   0.24,  0.32,
                               0.48,   0.64,  0.96,  1.28,  1.92,  2.56,   3.84,   5.12,   7.68,   10.24, 15.36,
                               20.48,  30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};

class RnrTimer : public testing::TestWithParam<int> {};
TEST_P(RnrTimer, IsWaitedOutToThePicosecond) {  // known failure 12
    const auto code = static_cast<std::uint8_t>(GetParam());
    const auto expected = picoseconds(static_cast<std::int64_t>(kRnrMs[code] * 1e3 + 0.5) * 1'000'000);
    EXPECT_EQ(rnr_timer(code), expected);
    Script s;
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.rnr(100, code);
    const Instant due = s.now + expected;
    s.expect_deadline(due);
    s.at(Instant{due.ps - 1});
    s.expire();
    s.expect_nothing();
    s.at(due);
    s.expire();
    s.expect({"SEND_ONLY 100 A len 4"});
}
INSTANTIATE_TEST_SUITE_P(All, RnrTimer, testing::Range(0, 32));

class AckTimeout : public testing::TestWithParam<int> {};
TEST_P(AckTimeout, Is4096NanosecondsDoubledByItsCode) {
    const auto code = static_cast<std::uint8_t>(GetParam());
    Script s({.timeout = code});
    s.post(WrOpcode::Send, 4);
    static_cast<void>(s.transmit());
    s.expect_deadline(s.now + picoseconds(std::int64_t{4'096'000} << code));
}
INSTANTIATE_TEST_SUITE_P(All, AckTimeout, testing::Range(1, 32));

class MinRnrTimer : public testing::TestWithParam<int> {};
TEST_P(MinRnrTimer, IsWhatTheNakCarries) {
    Script s({.min_rnr_timer = static_cast<std::uint8_t>(GetParam())});
    s.send({.opcode = Opcode::SendOnly, .psn = 500});
    s.expect({"RNR " + std::to_string(GetParam()) + " 500"});
}
INSTANTIATE_TEST_SUITE_P(All, MinRnrTimer, testing::Range(0, 32));

}  // namespace
}  // namespace vroce::nic::test
