#include "switch/io/unprotected_roce.hpp"

#include <gtest/gtest.h>

namespace vroce::sw {
namespace {

using std::chrono::seconds;

constexpr std::chrono::steady_clock::time_point kStart{seconds(1'000)};

UnprotectedRoce counted(std::size_t dscp, std::uint64_t packets) {
    UnprotectedRoce roce;
    roce.dscp[dscp] = packets;
    return roce;
}

TEST(UnprotectedRoceNotice, SaysWhichMarkPutItThere) {
    UnprotectedRoceNotice notice;
    EXPECT_EQ(notice.look(kStart, "Ethernet0", UnprotectedRoce{}), "");
    UnprotectedRoce roce = counted(26, 7);
    roce.pcp[1] = 2;
    EXPECT_EQ(
        notice.look(kStart, "Ethernet0", roce),
        "Ethernet0: RoCE came in a class without PFC, where it may be lost (DSCP 26: 7 packets, PCP 1: 2 packets); "
        "it must run in a lossless class (counter roce_in_lossy_class)");
}

TEST(UnprotectedRoceNotice, SpeaksOnceAMinuteAndThenOfAllSince) {
    UnprotectedRoceNotice notice;
    EXPECT_NE(notice.look(kStart, "Ethernet0", counted(0, 1)), "");
    EXPECT_EQ(notice.look(kStart + seconds(59), "Ethernet0", counted(0, 100)), "");
    EXPECT_NE(notice.look(kStart + seconds(60), "Ethernet0", counted(0, 101)).find("DSCP 0: 100 packets"),
              std::string::npos);
    EXPECT_EQ(notice.look(kStart + seconds(600), "Ethernet0", counted(0, 101)), "") << "nothing new";
}

}  // namespace
}  // namespace vroce::sw
