// Announcements, byte for byte.
#include "nic/bridge/announcement.hpp"

#include "tests/unit/nic_io/frames.hpp"

namespace vroce::nic::test {
namespace {

Bytes announcement(const MacAddress& from, const Gid& address) {
    Bytes out(kAnnouncementBytesMax);
    out.resize(
        write_announcement(std::span<std::uint8_t, kAnnouncementBytesMax>(out.data(), out.size()), from, address));
    return out;
}

TEST(Announcement, GratuitousArp) {
    const Bytes expected = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2,  0, 0, 0, 0, 7, 0x08, 0x06,  //
                            0,    1,    0x08, 0,    6,    4,    0,  1,                          // request
                            2,    0,    0,    0,    0,    7,    10, 0, 0, 5,                    // sender
                            0,    0,    0,    0,    0,    0,    10, 0, 0, 5};                   // target
    EXPECT_EQ(announcement(mac(7), ipv4(5)), expected);
}

TEST(Announcement, UnsolicitedNeighbourAdvertisement) {
    const Bytes bytes = announcement(mac(7), ipv6(5));
    ASSERT_EQ(bytes.size(), 86u);
    EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 6), (Bytes{0x33, 0x33, 0, 0, 0, 1}));
    EXPECT_EQ(bytes[14 + 6], 58);   // ICMPv6
    EXPECT_EQ(bytes[14 + 7], 255);  // or it is ignored
    EXPECT_EQ(bytes[54], 136);
    EXPECT_EQ(bytes[58], 0x20);
    EXPECT_EQ(Bytes(bytes.begin() + 80, bytes.end()), (Bytes{2, 0, 0, 0, 0, 7}));
    // A receiver's sum over pseudo-header and message, checksum included, is all ones.
    std::uint32_t sum = 32 + 58;
    for (std::size_t i = 22; i < 86; i += 2) sum += load_be16(bytes.data() + i);
    while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
    EXPECT_EQ(sum, 0xFFFFu);
}

TEST(Announcement, LinkLocalAddressFollowsFromTheMac) {
    const MacAddress from{{0x02, 0xFC, 0x12, 0x34, 0x56, 0x78}};
    const Gid expected{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0xFC, 0x12, 0xFF, 0xFE, 0x34, 0x56, 0x78}};
    EXPECT_EQ(link_local_of(from), expected);
}

}  // namespace
}  // namespace vroce::nic::test
