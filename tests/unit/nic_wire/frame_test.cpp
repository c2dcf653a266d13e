// Parsing: what is there is found, what is not is refused, whatever the bytes.
#include "nic/wire/frame.hpp"

#include <gtest/gtest.h>

#include <random>

#include "nic/wire/describe.hpp"
#include "tests/unit/nic_wire/vectors.hpp"

namespace vroce::nic::test {
namespace {

std::vector<std::uint8_t> v4() {
    return from_hex(kVectors[3].hex);
}

FrameVerdict parse(const std::vector<std::uint8_t>& bytes) {
    RoceFrame frame;
    const FrameVerdict verdict = parse_envelope(bytes, frame);
    return verdict == FrameVerdict::Ok ? parse_transport(frame) : verdict;
}

TEST(Frame, FieldsOfAWriteAreFound) {
    const auto bytes = from_hex(kVectors[1].hex);
    RoceFrame frame;
    ASSERT_EQ(parse_envelope(bytes, frame), FrameVerdict::Ok);
    ASSERT_EQ(parse_transport(frame), FrameVerdict::Ok);
    EXPECT_EQ(frame.encapsulation, Encapsulation::V1);
    EXPECT_EQ(frame.op->name, "WRITE_ONLY");
    EXPECT_EQ(frame.bth.destination_qpn, 0x10AU);
    EXPECT_EQ(frame.bth.psn.value(), 0xA788BCU);
    EXPECT_TRUE(frame.bth.ack_request);
    EXPECT_EQ(frame.reth(), (Reth{0x55D4C0726000, 0x47B3, 5}));
    EXPECT_EQ(frame.bth.pad, 3);
    EXPECT_EQ(frame.payload.size(), 5U);
    EXPECT_EQ(frame.destination().bytes[15], 2);
}

TEST(Frame, AddressesOfIpv4AreMappedGids) {
    const auto bytes = v4();
    RoceFrame frame;
    ASSERT_EQ(parse_envelope(bytes, frame), FrameVerdict::Ok);
    EXPECT_TRUE(frame.source().is_ipv4());
    EXPECT_EQ(frame.source().bytes[12], 0xC0);
    EXPECT_EQ(frame.udp_source_port(), 0xC000);
}

TEST(Frame, EthernetPaddingBehindThePacketIsIgnored) {
    auto bytes = from_hex(kVectors[5].hex);
    bytes.resize(bytes.size() + 12);
    RoceFrame frame;
    ASSERT_EQ(parse_envelope(bytes, frame), FrameVerdict::Ok);
    EXPECT_TRUE(icrc_ok(frame));
}

TEST(Frame, EachContradictionHasItsVerdict) {
    auto bytes = v4();
    bytes[0] = 0x46;
    EXPECT_EQ(parse(bytes), FrameVerdict::BadIpHeader);
    bytes = v4();
    bytes[9] = 6;
    EXPECT_EQ(parse(bytes), FrameVerdict::NotRoce);
    bytes = v4();
    bytes[6] = 0x20;  // more fragments
    EXPECT_EQ(parse(bytes), FrameVerdict::Fragment);
    bytes = v4();
    bytes[7] = 1;  // fragment offset
    EXPECT_EQ(parse(bytes), FrameVerdict::Fragment);
    bytes = v4();
    bytes[23] = 0xB8;  // another UDP port
    EXPECT_EQ(parse(bytes), FrameVerdict::NotRoce);
    bytes = v4();
    bytes[25] = 0x2D;  // UDP length against IP length
    EXPECT_EQ(parse(bytes), FrameVerdict::BadLength);
    bytes = v4();
    bytes[28] = 0x15;  // RESYNC exists for RD only
    EXPECT_EQ(parse(bytes), FrameVerdict::ReservedOpcode);
    bytes = v4();
    bytes[29] |= 0x10;  // pad 1 on a payload of whole words
    EXPECT_EQ(parse(bytes), FrameVerdict::Ok) << "15 bytes and one of pad are whole words";
    bytes = v4();
    bytes[28] = 0x0C;  // a READ request with payload
    EXPECT_EQ(parse(bytes), FrameVerdict::BadLength);
}

TEST(Frame, EveryTruncationIsRefused) {
    for (const Vector& vector : kVectors) {
        const auto whole = from_hex(vector.hex);
        for (std::size_t length = 0; length < whole.size(); ++length) {
            const std::vector<std::uint8_t> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
            EXPECT_NE(parse(bytes), FrameVerdict::Ok) << vector.name << " at " << length;
        }
    }
}

TEST(Frame, TagsAreSteppedOver) {
    std::vector<std::uint8_t> frame(12);
    const auto add = [&frame](std::initializer_list<int> bytes) {
        for (const int byte : bytes) frame.push_back(static_cast<std::uint8_t>(byte));
    };
    add({0x88, 0xA8, 0, 5, 0x81, 0x00, 0xA0, 7, 0x08, 0x00});
    EXPECT_EQ(locate_l3(frame), 22U);
    frame[20] = 0x08;
    frame[21] = 0x06;
    EXPECT_EQ(locate_l3(frame), 0U) << "ARP";
    frame.resize(17);
    EXPECT_EQ(locate_l3(frame), 0U) << "cut in a tag";
}

TEST(Frame, AnyBytesAreParsedOrRefusedAndDescribed) {
    std::mt19937_64 random(11);
    for (int i = 0; i < 20'000; ++i) {
        auto bytes = from_hex(kVectors[static_cast<std::size_t>(i) % std::size(kVectors)].hex);
        std::vector<std::uint8_t> frame(14);
        store_be16(&frame[12], bytes[0] >> 4 == 4 ? 0x0800 : 0x86DD);
        for (std::uint64_t flips = random() % 4; flips > 0; --flips)
            bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
        bytes.resize(random() % (bytes.size() + 1));
        bytes.shrink_to_fit();
        frame.insert(frame.end(), bytes.begin(), bytes.end());
        EXPECT_FALSE(describe(frame).empty());
    }
}

}  // namespace
}  // namespace vroce::nic::test
