#include "common/dpdk/mbuf_pool.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/common/dpdk/environment.hpp"

namespace vroce {
namespace {

TEST(MbufPool, GivesPacketsWithRoomForTheLargestFrameAndForHeaders) {
    Packet* packet = test::pool().alloc();
    ASSERT_NE(packet, nullptr);
    EXPECT_EQ(packet->length, 0u);
    EXPECT_GE(packet->headroom, 128u);
    EXPECT_GE(packet->tailroom, 9'216u);
    EXPECT_EQ(packet->pool, &test::pool());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet) % alignof(Packet), 0u);
    packet->resize(9'216);
    packet->data[9'215] = 1;
    release(packet);
}

TEST(MbufPool, AnMbufSaysWhatItsPacketSays) {
    Packet* packet = test::pool().alloc();
    packet->resize(100);
    packet->push(18);
    packet->pull(4);
    packet->resize(90);
    packet->data[0] = 0x5A;
    rte_mbuf* mbuf = MbufPool::prepare(packet);
    EXPECT_EQ(rte_pktmbuf_mtod(mbuf, std::uint8_t*), packet->data);
    EXPECT_EQ(mbuf->pkt_len, 90u);
    EXPECT_EQ(mbuf->data_len, 90u);
    EXPECT_EQ(*rte_pktmbuf_mtod(mbuf, std::uint8_t*), 0x5A);
    Packet* again = test::pool().adopt(mbuf);
    EXPECT_EQ(again, packet) << "conversion is arithmetic";
    EXPECT_EQ(again->length, 90u);
    EXPECT_EQ(again->headroom + again->length + again->tailroom, std::uint32_t{mbuf->buf_len});
    release(packet);
}

TEST(MbufPool, ForgetsWhatTheLastOwnerWroteBesideTheFrame) {
    Packet* packet = test::pool().alloc();
    packet->meta.out_port = 77;
    packet->next = packet;
    release(packet);
    Packet* next = test::pool().alloc();
    EXPECT_EQ(next->meta.out_port, 0);
    EXPECT_EQ(next->next, nullptr);
    release(next);
}

TEST(MbufPool, AnEmptyPoolIsAnAnswerAndCounted) {
    auto small = MbufPool::create("small", 127, 200);
    ASSERT_TRUE(small) << small.error();
    EXPECT_FALSE((*small)->nearly_empty());
    std::vector<Packet*> taken;
    while (Packet* packet = (*small)->alloc()) taken.push_back(packet);
    EXPECT_EQ(taken.size(), 127u);
    EXPECT_EQ((*small)->alloc_failures(), 1u);
    EXPECT_TRUE((*small)->nearly_empty());
    EXPECT_EQ((*small)->clone(*taken.front()), nullptr);
    for (Packet* packet : taken) release(packet);
    EXPECT_EQ((*small)->available(), 127u);
}

TEST(MbufPool, RefusesWhatCannotBe) {
    const auto huge_frame = MbufPool::create("huge-frame", 64, 70'000);
    ASSERT_FALSE(huge_frame);
    EXPECT_NE(huge_frame.error().find("70000"), std::string::npos);
    const auto huge_pool = MbufPool::create("huge-pool", 1'000'000, 9'216);
    ASSERT_FALSE(huge_pool);
    EXPECT_NE(huge_pool.error().find("--memory-mib"), std::string::npos);
}

}  // namespace
}  // namespace vroce
