#include "nic/wire/opcode.hpp"

#include <gtest/gtest.h>

#include <map>

namespace vroce::nic {
namespace {

/// Bytes between BTH and payload, by opcode byte, written down from the standard's tables rather than derived.
const std::map<int, int> kHeaderBytes = {
    // RC
    {0x00, 0},
    {0x01, 0},
    {0x02, 0},
    {0x03, 4},
    {0x04, 0},
    {0x05, 4},
    {0x06, 16},
    {0x07, 0},
    {0x08, 0},
    {0x09, 4},
    {0x0A, 16},
    {0x0B, 20},
    {0x0C, 16},
    {0x0D, 4},
    {0x0E, 0},
    {0x0F, 4},
    {0x10, 4},
    {0x11, 4},
    {0x12, 12},
    {0x13, 28},
    {0x14, 28},
    {0x16, 4},
    {0x17, 4},
    {0x1C, 20},
    {0x1D, 16},
    // UC
    {0x20, 0},
    {0x21, 0},
    {0x22, 0},
    {0x23, 4},
    {0x24, 0},
    {0x25, 4},
    {0x26, 16},
    {0x27, 0},
    {0x28, 0},
    {0x29, 4},
    {0x2A, 16},
    {0x2B, 20},
    // UD
    {0x64, 8},
    {0x65, 12},
    // CNP
    {0x81, 16},
    // XRC: requests carry XRCETH
    {0xA0, 4},
    {0xA1, 4},
    {0xA2, 4},
    {0xA3, 8},
    {0xA4, 4},
    {0xA5, 8},
    {0xA6, 20},
    {0xA7, 4},
    {0xA8, 4},
    {0xA9, 8},
    {0xAA, 20},
    {0xAB, 24},
    {0xAC, 20},
    {0xAD, 4},
    {0xAE, 0},
    {0xAF, 4},
    {0xB0, 4},
    {0xB1, 4},
    {0xB2, 12},
    {0xB3, 32},
    {0xB4, 32},
    {0xB6, 8},
    {0xB7, 8},
};

TEST(Opcode, All256ValuesAreValidOrReservedAsTheStandardSays) {
    for (int byte = 0; byte < 256; ++byte) {
        const OpcodeInfo& op = opcode_info(static_cast<std::uint8_t>(byte));
        const auto known = kHeaderBytes.find(byte);
        SCOPED_TRACE(byte);
        EXPECT_EQ(op.valid(), known != kHeaderBytes.end());
        EXPECT_EQ(op.header_bytes, known != kHeaderBytes.end() ? known->second : 0);
        EXPECT_EQ(op.traits == 0, !op.valid());
        EXPECT_EQ(static_cast<int>(op.transport), byte >> 5);
    }
}

TEST(Opcode, EachIsARequestOrAResponseAndHasOnePlace) {
    for (int byte = 0; byte < 256; ++byte) {
        const OpcodeInfo& op = opcode_info(static_cast<std::uint8_t>(byte));
        if (!op.valid() || op.has(kOpCnp)) continue;
        SCOPED_TRACE(byte);
        EXPECT_NE(op.has(kOpRequest), op.has(kOpResponse));
        const int places = op.has(kOpFirst) + op.has(kOpMiddle) + op.has(kOpLast) + op.has(kOpOnly);
        EXPECT_EQ(places, op.has(kOpSend | kOpWrite | kOpReadResponse) ? 1 : 0);
    }
}

TEST(Opcode, TransportsShareOneTable) {
    for (std::uint8_t op = 0; op < 12; ++op) {
        EXPECT_EQ(opcode_info(op).name, opcode_info(static_cast<std::uint8_t>(0x20 | op)).name);
        EXPECT_EQ(opcode_info(op).name, opcode_info(static_cast<std::uint8_t>(0xA0 | op)).name);
    }
    EXPECT_EQ(name(opcode_info(0xA0).transport), "XRC");
    EXPECT_EQ(opcode_info(0x81).name, "CNP");
}

TEST(Opcode, ImmediateIsOnlyInTheLastPacket) {
    for (int byte = 0; byte < 256; ++byte) {
        const OpcodeInfo& op = opcode_info(static_cast<std::uint8_t>(byte));
        EXPECT_TRUE(!op.has(kHasImm | kHasIeth) || op.has(kOpLast | kOpOnly)) << byte;
    }
}

}  // namespace
}  // namespace vroce::nic
