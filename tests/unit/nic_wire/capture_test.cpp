// A capture of two hardware NICs: every packet's ICRC, where the capture is at hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "nic/wire/describe.hpp"
#include "nic/wire/frame.hpp"

namespace vroce::nic {
namespace {

std::uint32_t little32(const std::uint8_t* p) {
    return load_raw32(p);
}

/// The frames of a classic little-endian pcap file; empty when it is none.
std::vector<std::vector<std::uint8_t>> read_pcap(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> raw((std::istreambuf_iterator<char>(file)), {});
    const std::vector<std::uint8_t> bytes(raw.begin(), raw.end());
    std::vector<std::vector<std::uint8_t>> frames;
    if (bytes.size() < 24 || (little32(bytes.data()) != 0xA1B2C3D4 && little32(bytes.data()) != 0xA1B23C4D)) return {};
    for (std::size_t at = 24; at + 16 <= bytes.size();) {
        const std::size_t length = little32(&bytes[at + 8]);
        at += 16;
        if (length > bytes.size() - at) break;
        frames.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                            bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
        at += length;
    }
    return frames;
}

TEST(Capture, All105PacketsOfHardwareVerify) {
    const char* folder = std::getenv("VROCE_PCAPS");
    const std::string path = std::string(folder != nullptr ? folder : VROCE_PCAPS_DEFAULT) + "/roce-rc-send-ack.pcap";
    if (!std::ifstream(path)) GTEST_SKIP() << "no capture at " << path << "; VROCE_PCAPS names its folder";
    std::size_t verified = 0;
    for (const auto& bytes : read_pcap(path)) {
        const std::span<const std::uint8_t> all(bytes);
        const std::size_t l3 = locate_l3(all);
        RoceFrame frame;
        if (l3 == 0 || parse_envelope(all.subspan(l3), frame) != FrameVerdict::Ok) continue;
        EXPECT_TRUE(icrc_ok(frame)) << describe(all);
        EXPECT_EQ(parse_transport(frame), FrameVerdict::Ok) << describe(all);
        verified += icrc_ok(frame) ? 1 : 0;
    }
    EXPECT_EQ(verified, 105U);
}

}  // namespace
}  // namespace vroce::nic
