// Bytes cut into slices at odd places, as packets cut a message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace vroce::nic {

inline std::vector<std::span<const std::uint8_t>> cut_into_slices(std::span<const std::uint8_t> bytes) {
    std::vector<std::span<const std::uint8_t>> slices;
    for (std::size_t length = 1; !bytes.empty(); length = length * 3 + 1) {
        const std::size_t take = std::min(length, bytes.size());
        slices.push_back(bytes.first(take));
        bytes = bytes.subspan(take);
    }
    return slices;
}

}  // namespace vroce::nic
