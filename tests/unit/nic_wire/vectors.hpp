// ICRC vectors from hardware captures and other implementations, as IP packets (or GRH) with their ICRC.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace vroce::nic::test {

inline std::vector<std::uint8_t> from_hex(std::string_view text) {
    std::vector<std::uint8_t> bytes;
    int high = -1;
    for (const char c : text) {
        if (c == ' ') continue;
        const int digit = c >= 'a' ? c - 'a' + 10 : c - '0';
        if (high < 0) {
            high = digit;
        } else {
            bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit));
            high = -1;
        }
    }
    return bytes;
}

struct Vector {
    std::string_view name;
    std::string_view hex;
};

constexpr Vector kVectors[] = {
    {"V1_hardware_cnp",
     "45c2003c718c400040119161 0a0011010a001201 000012b700280000 8100ffff4000011800000000 "
     "00000000000000000000000000000000 82fd002a"},
    {"V2_v1_write_only",
     "6020000000281b40 00000000000000000000ffff0f000002 00000000000000000000ffff0f000002 0a70ffff0000010a80a788bc "
     "000055d4c0726000000047b300000005 00000000 01000000 e3d856bb"},
    {"V3_v1_acknowledge",
     "6020000000141b40 00000000000000000000ffff0f000002 00000000000000000000ffff0f000002 1140ffff0000010900a788c0 "
     "00000005 25f0c038"},
    {"V4_v2_ipv4_uc_send_only",
     "45010040047840004011b4d5 c0a80007c0a80007 c00012b7002caca2 2460ffff000000d300cf1710 "
     "4630818be28935d90e9a95505401be885e500000 78f353f3"},
    {"V5_v2_ipv6_uc_send_only",
     "6e21face002c11ff 20220000000000000000000000001023 20230000000000000000000000001024 c00012b7002ce7c5 "
     "2460ffff000000d300cf1710 4630818be28935d90e9a95505401be885e500000 3e5b743b"},
    {"V6_hardware_acknowledge",
     "450200300000400040112d60 c0a84606c0a84604 004812b7001c0000 1140ffff0000004500000000 06000001 259cc216"},
};

}  // namespace vroce::nic::test
