// The Internet checksum (RFC 1071) and its update when a word changes (RFC 1624).
#pragma once

#include <cstdint>
#include <span>

#include "common/wire/bytes.hpp"

namespace vroce {

/// One's complement sum over big-endian words, to be continued; an odd last byte counts as a high byte, so only the
/// last part of a sum may be odd. Exact for up to 2^16 words.
constexpr std::uint32_t sum_words(std::span<const std::uint8_t> bytes, std::uint32_t sum = 0) {
    std::size_t i = 0;
    for (; i + 1 < bytes.size(); i += 2) sum += load_be16(&bytes[i]);
    if (i < bytes.size()) sum += std::uint32_t{bytes[i]} << 8;
    return sum;
}

constexpr std::uint16_t fold_sum(std::uint32_t sum) {
    while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(sum);
}

/// Over bytes whose checksum field is 0 this is the checksum; over bytes that hold a right one it is 0.
constexpr std::uint16_t internet_checksum(std::span<const std::uint8_t> bytes, std::uint32_t sum = 0) {
    return static_cast<std::uint16_t>(~fold_sum(sum_words(bytes, sum)));
}

/// The checksum after one of its words has changed (RFC 1624, equation 3).
constexpr std::uint16_t update_checksum(std::uint16_t checksum, std::uint16_t old_word, std::uint16_t new_word) {
    const auto inverted = [](std::uint16_t word) { return std::uint32_t{static_cast<std::uint16_t>(~word)}; };
    return static_cast<std::uint16_t>(~fold_sum(inverted(checksum) + inverted(old_word) + new_word));
}

}  // namespace vroce
