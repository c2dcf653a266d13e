// What a template builds is what the parser finds, for every address family, tag and size.
#include "nic/wire/frame_template.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace vroce::nic {
namespace {

AddressVector addresses(bool ipv6) {
    AddressVector av;
    av.source_mac.bytes = {2, 0, 0, 0, 0, 1};
    av.destination_mac.bytes = {2, 0, 0, 0, 0, 2};
    av.source.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1};
    av.destination.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 2};
    if (ipv6) av.source.bytes[0] = av.destination.bytes[0] = 0xFD;
    av.traffic_class = 0x6A;
    av.hop_limit = 33;
    av.udp_source_port = 0xD123;
    return av;
}

std::vector<std::uint8_t> build(const FrameTemplate& frames, std::size_t payload) {
    const std::size_t transport_bytes = Bth::kBytes + payload;
    std::vector<std::uint8_t> bytes(frames.transport_offset() + transport_bytes + kIcrcBytes, 0x5A);
    frames.write_front(bytes.data(), transport_bytes);
    Bth{.opcode = 4, .destination_qpn = 77, .psn = Psn(9)}.store(&bytes[frames.transport_offset()]);
    frames.seal(bytes.data(), transport_bytes);
    return bytes;
}

std::uint32_t checksum_of(const std::uint8_t* ip) {
    std::uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2) sum += load_be16(ip + i);
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    return sum;
}

TEST(FrameTemplate, RoundTripsForEverySizeAndFamily) {
    for (const bool ipv6 : {false, true})
        for (const auto vlan : std::initializer_list<std::uint16_t>{0, 10})
            for (std::size_t payload = 0; payload <= 4'096; payload += payload < 64 ? 4 : 508) {
                AddressVector av = addresses(ipv6);
                av.vlan = vlan;
                const FrameTemplate frames(av);
                const auto bytes = build(frames, payload);
                const std::span<const std::uint8_t> all(bytes);
                ASSERT_EQ(locate_l3(all), frames.l3_offset());
                RoceFrame frame;
                ASSERT_EQ(parse_envelope(all.subspan(frames.l3_offset()), frame), FrameVerdict::Ok);
                ASSERT_EQ(parse_transport(frame), FrameVerdict::Ok);
                EXPECT_TRUE(icrc_ok(frame));
                EXPECT_EQ(frame.payload.size(), payload);
                EXPECT_EQ(frame.source(), av.source);
                EXPECT_EQ(frame.destination(), av.destination);
                EXPECT_EQ(frame.traffic_class(), 0x6A);
                EXPECT_EQ(frame.udp_source_port(), 0xD123);
                EXPECT_TRUE(ipv6 || checksum_of(frame.l3) == 0xFFFFU);
            }
}

TEST(FrameTemplate, Ipv4NeverFragmentsAndHasNoIdentification) {
    const auto bytes = build(FrameTemplate(addresses(false)), 16);
    EXPECT_EQ(load_be16(&bytes[18]), 0);
    EXPECT_EQ(load_be16(&bytes[20]), 0x4000);
    EXPECT_EQ(bytes[22], 33) << "hop limit";
    EXPECT_EQ(load_be16(&bytes[40]), 0) << "UDP checksum";
}

TEST(FrameTemplate, PriorityWithoutVlanIsAPriorityTag) {
    AddressVector av = addresses(false);
    av.pcp = 3;
    const auto bytes = build(FrameTemplate(av), 0);
    EXPECT_EQ(load_be16(&bytes[12]), 0x8100);
    EXPECT_EQ(load_be16(&bytes[14]), 3 << 13);
}

}  // namespace
}  // namespace vroce::nic
