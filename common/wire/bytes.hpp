// Numbers in network order, byte by byte: no alignment, no casts onto packet memory; compilers make one move of it.
#pragma once

#include <cstdint>

namespace vroce {

constexpr std::uint16_t load_be16(const std::uint8_t* p) {
    return static_cast<std::uint16_t>(p[0] << 8 | p[1]);
}
constexpr std::uint32_t load_be24(const std::uint8_t* p) {
    return std::uint32_t{p[0]} << 16 | load_be16(p + 1);
}
constexpr std::uint32_t load_be32(const std::uint8_t* p) {
    return std::uint32_t{load_be16(p)} << 16 | load_be16(p + 2);
}
constexpr std::uint64_t load_be64(const std::uint8_t* p) {
    return std::uint64_t{load_be32(p)} << 32 | load_be32(p + 4);
}
constexpr void store_be16(std::uint8_t* p, std::uint16_t value) {
    p[0] = static_cast<std::uint8_t>(value >> 8);
    p[1] = static_cast<std::uint8_t>(value);
}
/// The low 24 bits.
constexpr void store_be24(std::uint8_t* p, std::uint32_t value) {
    p[0] = static_cast<std::uint8_t>(value >> 16);
    store_be16(p + 1, static_cast<std::uint16_t>(value));
}
constexpr void store_be32(std::uint8_t* p, std::uint32_t value) {
    store_be16(p, static_cast<std::uint16_t>(value >> 16));
    store_be16(p + 2, static_cast<std::uint16_t>(value));
}
constexpr void store_be64(std::uint8_t* p, std::uint64_t value) {
    store_be32(p, static_cast<std::uint32_t>(value >> 32));
    store_be32(p + 4, static_cast<std::uint32_t>(value));
}

}  // namespace vroce
