// Headers: bytes drawn by the standards, every truncation, and parse(write(x)) == x.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/random.hpp"
#include "common/wire/arp.hpp"
#include "common/wire/bytes.hpp"
#include "common/wire/checksum.hpp"
#include "common/wire/ethernet.hpp"
#include "common/wire/ip.hpp"
#include "common/wire/udp.hpp"

namespace vroce {
namespace {

std::vector<std::uint8_t> hex(const std::string& text) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

template <typename Header>
std::vector<std::uint8_t> written(const Header& header) {
    std::vector<std::uint8_t> bytes(Header::kBytes);
    header.write(std::span<std::uint8_t, Header::kBytes>(bytes.data(), Header::kBytes));
    return bytes;
}

/// Parses at its length and at none below it.
template <typename Header>
void expect_checked(const std::vector<std::uint8_t>& bytes) {
    EXPECT_TRUE(Header::parse(bytes).has_value());
    for (std::size_t length = 0; length < Header::kBytes; ++length) {
        const std::vector<std::uint8_t> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
        EXPECT_FALSE(Header::parse(part).has_value()) << length;
    }
}

template <typename Array>
Array random_bytes(Random& random) {
    Array out{};
    for (auto& byte : out) byte = static_cast<std::uint8_t>(random.next_u64());
    return out;
}

TEST(Bytes, AreInNetworkOrder) {
    std::array<std::uint8_t, 8> bytes{1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(load_be16(&bytes[1]), 0x0203);
    EXPECT_EQ(load_be24(&bytes[1]), 0x020304u);
    EXPECT_EQ(load_be32(&bytes[1]), 0x02030405u);
    EXPECT_EQ(load_be64(bytes.data()), 0x0102030405060708u);
    store_be64(bytes.data(), 0xF1E2D3C4B5A69788u);
    EXPECT_EQ(load_be64(bytes.data()), 0xF1E2D3C4B5A69788u);
    store_be24(&bytes[1], 0xFF123456);
    EXPECT_EQ(bytes, (std::array<std::uint8_t, 8>{0xF1, 0x12, 0x34, 0x56, 0xB5, 0xA6, 0x97, 0x88}));
}

TEST(Checksum, OfTheRfcs) {
    const auto rfc1071 = hex("0001f203f4f5f6f7");
    EXPECT_EQ(fold_sum(sum_words(rfc1071)), 0xDDF2);
    EXPECT_EQ(fold_sum(sum_words(hex("0001f203f4f5f6"))), fold_sum(sum_words(hex("0001f203f4f5f600"))));
    EXPECT_EQ(update_checksum(0xDD2F, 0x5555, 0x3285), 0x0000) << "RFC 1624, section 4";
}

TEST(Checksum, AnUpdateIsWhatANewSumWouldBe) {
    Random random(2);
    for (int i = 0; i < 10'000; ++i) {
        auto bytes = random_bytes<std::array<std::uint8_t, 20>>(random);
        const std::uint16_t before = internet_checksum(bytes);
        const std::size_t at = 2 * random.below(10);
        const std::uint16_t old_word = load_be16(&bytes[at]);
        const auto new_word = static_cast<std::uint16_t>(random.next_u64());
        store_be16(&bytes[at], new_word);
        ASSERT_EQ(update_checksum(before, old_word, new_word), internet_checksum(bytes));
    }
}

TEST(Ethernet, HeaderAndTags) {
    const EthernetHeader ethernet{{1, 2, 3, 4, 5, 6}, {2, 0, 0, 0, 0, 9}, kEtherTypeCTag};
    EXPECT_EQ(written(ethernet), hex("0102030405060200000000098100"));
    EXPECT_EQ(EthernetHeader::parse(written(ethernet)), ethernet);
    expect_checked<EthernetHeader>(written(ethernet));
    const VlanTag tag{5, true, 0xABC, kEtherTypeIpv4};
    EXPECT_EQ(written(tag), hex("babc0800"));
    expect_checked<VlanTag>(written(tag));
    for (unsigned tci = 0; tci <= 0xFFFF; ++tci) {
        const VlanTag any{static_cast<std::uint8_t>(tci >> 13), (tci >> 12 & 1) != 0,
                          static_cast<std::uint16_t>(tci & 0xFFF), 0x88A8};
        ASSERT_EQ(load_be16(written(any).data()), tci);
        ASSERT_EQ(VlanTag::parse(written(any)), any);
    }
}

TEST(Arp, IsForEthernetAndIpv4) {
    const ArpPacket packet{ArpPacket::kRequest, {2, 0, 0, 0, 0, 9}, {10, 0, 0, 1}, {}, {10, 0, 0, 2}};
    const auto bytes = written(packet);
    EXPECT_EQ(bytes, hex("00010800060400010200000000090a0000010000000000000a000002"));
    EXPECT_EQ(ArpPacket::parse(bytes), packet);
    expect_checked<ArpPacket>(bytes);
    for (const std::size_t at : {0u, 1u, 2u, 3u, 4u, 5u}) {
        auto other = bytes;
        other[at] ^= 1;
        EXPECT_FALSE(ArpPacket::parse(other).has_value()) << "another kind, byte " << at;
    }
}

TEST(Ipv4, AHeaderFromTheWire) {
    auto bytes = hex("45000073000040004011b861c0a80001c0a800c7");
    bytes.resize(0x73 + 4);  // with Ethernet's padding
    const auto header = Ipv4Header::parse(bytes);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->total_bytes, 0x73);
    EXPECT_EQ(header->payload_bytes(), 0x73u - 20);
    EXPECT_TRUE(header->dont_fragment);
    EXPECT_FALSE(header->is_fragment());
    EXPECT_EQ(header->ttl, 64);
    EXPECT_EQ(header->protocol, kProtocolUdp);
    EXPECT_EQ(header->destination, (Ipv4Bytes{192, 168, 0, 199}));
    const auto again = written(*header);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), bytes.begin()));
}

TEST(Ipv4, RefusesWhatContradictsItself) {
    const auto good = hex("45000014000040004011b8c0c0a80001c0a800c7");
    ASSERT_TRUE(Ipv4Header::parse(good).has_value());
    expect_checked<Ipv4Header>(good);
    const auto with = [&](std::size_t at, std::uint8_t value) {
        auto bytes = good;
        bytes[at] = value;
        store_be16(&bytes[10], 0);
        store_be16(&bytes[10], internet_checksum(std::span(bytes).first(20)));
        return Ipv4Header::parse(bytes).has_value();
    };
    EXPECT_TRUE(with(8, 1));
    EXPECT_FALSE(with(0, 0x55)) << "version 5";
    EXPECT_FALSE(with(0, 0x44)) << "a header of 16 bytes";
    EXPECT_FALSE(with(0, 0x4F)) << "options beyond the end";
    EXPECT_FALSE(with(3, 0x13)) << "shorter than its header";
    EXPECT_FALSE(with(3, 0x15)) << "longer than what is there";
    auto wrong = good;
    wrong[11] ^= 1;
    EXPECT_FALSE(Ipv4Header::parse(wrong).has_value()) << "wrong checksum";
}

TEST(Ipv4, OptionsArePartOfTheHeader) {
    auto bytes = hex("46000018000040004011000000000000c0a800c701010100");
    store_be16(&bytes[10], internet_checksum(bytes));
    const auto header = Ipv4Header::parse(bytes);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->header_bytes, 24);
    EXPECT_EQ(header->payload_bytes(), 0u);
}

TEST(Ip, ParsesWhatItWrites) {
    Random random(6);
    for (int i = 0; i < 2'000; ++i) {
        Ipv4Header v4;
        v4.traffic_class = static_cast<std::uint8_t>(random.next_u64());
        v4.total_bytes = static_cast<std::uint16_t>(20 + random.below(100));
        v4.identification = static_cast<std::uint16_t>(random.next_u64());
        v4.dont_fragment = random.chance(0.5);
        v4.more_fragments = random.chance(0.5);
        v4.fragment_offset = static_cast<std::uint16_t>(random.below(8'192));
        v4.ttl = static_cast<std::uint8_t>(random.next_u64());
        v4.protocol = static_cast<std::uint8_t>(random.next_u64());
        v4.source = random_bytes<Ipv4Bytes>(random);
        v4.destination = random_bytes<Ipv4Bytes>(random);
        auto bytes = written(v4);
        bytes.resize(v4.total_bytes);
        ASSERT_EQ(Ipv4Header::parse(bytes), v4);

        Ipv6Header v6;
        v6.traffic_class = static_cast<std::uint8_t>(random.next_u64());
        v6.flow_label = static_cast<std::uint32_t>(random.below(1 << 20));
        v6.payload_bytes = static_cast<std::uint16_t>(random.below(100));
        v6.next_header = static_cast<std::uint8_t>(random.next_u64());
        v6.hop_limit = static_cast<std::uint8_t>(random.next_u64());
        v6.source = random_bytes<Ipv6Bytes>(random);
        v6.destination = random_bytes<Ipv6Bytes>(random);
        bytes = written(v6);
        bytes.resize(40u + v6.payload_bytes);
        ASSERT_EQ(Ipv6Header::parse(bytes), v6);
        if (v6.payload_bytes == 0) continue;
        bytes.pop_back();
        ASSERT_FALSE(Ipv6Header::parse(bytes).has_value()) << "a payload longer than what is there";
    }
    expect_checked<Ipv6Header>(written(Ipv6Header{}));
    auto other = written(Ipv6Header{});
    other[0] = 0x40;
    EXPECT_FALSE(Ipv6Header::parse(other).has_value()) << "another version";
}

TEST(Udp, HeaderAndChecksum) {
    const UdpHeader udp{0xC000, 4'791, 12, 0};
    auto bytes = written(udp);
    EXPECT_EQ(bytes, hex("c00012b7000c0000"));
    for (const std::uint8_t byte : hex("deadbeef")) bytes.push_back(byte);
    EXPECT_EQ(UdpHeader::parse(bytes), udp);
    expect_checked<UdpHeader>(bytes);
    for (const std::uint16_t length : {std::uint16_t{7}, std::uint16_t{13}}) {
        auto wrong = bytes;
        store_be16(&wrong[4], length);
        EXPECT_FALSE(UdpHeader::parse(wrong).has_value()) << length;
    }
    Ipv4Header ip;
    ip.protocol = kProtocolUdp;
    ip.source = {10, 0, 0, 1};
    ip.destination = {10, 0, 0, 2};
    const std::uint32_t pseudo = pseudo_header_sum(ip, 12);
    const std::uint16_t checksum = udp_checksum(bytes, pseudo);
    // 0a00 + 0001 + 0a00 + 0002 + 0011 + 000c + c000 + 12b7 + 000c + dead + beef = 2847f -> 8481, inverted.
    EXPECT_EQ(checksum, 0x7B7E);
    store_be16(&bytes[6], checksum);
    EXPECT_EQ(internet_checksum(bytes, pseudo), 0) << "a receiver's sum";
    Ipv6Header ip6;
    ip6.next_header = kProtocolUdp;
    ip6.destination[15] = 1;
    EXPECT_EQ(fold_sum(pseudo_header_sum(ip6, 12)), 17 + 12 + 1);
    EXPECT_EQ(udp_checksum(hex("ffff"), 0), 0xFFFF) << "0 would mean none";
}

}  // namespace
}  // namespace vroce
