// Commands of ours, asked through DPDK's own socket.
#include "common/dpdk/telemetry.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <stdexcept>

#include "tests/unit/common/dpdk/environment.hpp"

namespace vroce {
namespace {

using nlohmann::json;

json ask(const std::string& command) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = test::run_directory() + "/dpdk/common-test/dpdk_telemetry.v2";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    std::string answer(65'536, '\0');
    ssize_t size = -1;
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        recv(fd, answer.data(), answer.size(), 0) > 0 && send(fd, command.data(), command.size(), 0) > 0)
        size = recv(fd, answer.data(), answer.size(), 0);
    close(fd);
    if (size < 0) return "no answer at " + path;
    return json::parse(answer.substr(0, static_cast<std::size_t>(size)), nullptr, false)[command];
}

TEST(Telemetry, AnswersWithObjectsArraysAndNumbers) {
    ASSERT_TRUE(add_telemetry("/vroce/test", "A test.", [] {
        return json{{"count", 18'000'000'000'000'000'000u},
                    {"positive", 5'000'000'000},
                    {"negative", -5},
                    {"share", 0.5},
                    {"name", "x"},
                    {"up", true},
                    {"per-port.x", {{"rx", 1}, {"deep", {{"er", 2}}}}},
                    {"sizes", {1, 2, 3}},
                    {"names", {"a", "b"}}};
    }));
    const json answer = ask("/vroce/test");
    EXPECT_EQ(answer["count"], 18'000'000'000'000'000'000u);
    EXPECT_EQ(answer["positive"], 5'000'000'000);
    EXPECT_EQ(answer["negative"], -5);
    EXPECT_EQ(answer["share"], "0.5");
    EXPECT_EQ(answer["name"], "x");
    EXPECT_EQ(answer["up"], "true");
    EXPECT_EQ(answer["per_port_x"]["rx"], 1) << answer;
    EXPECT_EQ(answer["per_port_x"]["deep"]["er"], 2) << answer;
    EXPECT_EQ(answer["sizes"], (json{1, 2, 3})) << answer;
    EXPECT_EQ(answer["names"], (json{"a", "b"})) << answer;
}

TEST(Telemetry, AProducerThatFailsAnswersNull) {
    ASSERT_TRUE(add_telemetry("/vroce/failing", "A test.", []() -> json { throw std::runtime_error("no"); }));
    EXPECT_TRUE(ask("/vroce/failing").is_null());
    ASSERT_TRUE(add_telemetry("/vroce/number", "A test.", [] { return json(7); }));
    EXPECT_EQ(ask("/vroce/number")["value"], 7);
}

TEST(Telemetry, CutsWhatDpdkCannotCarry) {
    ASSERT_TRUE(add_telemetry("/vroce/large", "A test.", [] {
        json object = json::object();
        for (int i = 0; i < 400; ++i) object["key" + std::to_string(1'000 + i)] = i;
        return json{{"many", object}, {"long", std::string(1'000, 'y')}};
    }));
    const json answer = ask("/vroce/large");
    EXPECT_EQ(answer["many"]["key1000"], 0);
    EXPECT_EQ(answer["long"].get<std::string>(), std::string(127, 'y'));
}

TEST(Telemetry, RefusesACommandThatDpdkRefuses) {
    EXPECT_FALSE(add_telemetry("no-slash", "A test.", [] { return json(); }));
}

}  // namespace
}  // namespace vroce
