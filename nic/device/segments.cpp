#include "nic/device/segments.hpp"

#include <algorithm>

namespace vroce::nic {

namespace {

/// A message's end is written after the rest: programs poll on its last byte (design D4).
constexpr std::size_t kTailBytes = 64;

}  // namespace

CopyResult Segments::read(AddressSpace& memory, std::span<const std::span<std::uint8_t>> slices, CopyTag tag,
                          DeviceCounters& counters) const {
    if (count_ == 0) return CopyResult::Done;
    CopyResult result = CopyResult::Fault;
    if (all_mapped()) {
        if (read_mapped(slices)) return CopyResult::Done;
        if (!retired_ && any_retired()) counters.add(DeviceCounter::MappingsRetired);
    } else if (!retired_) {
        result = memory.read({pieces_.data(), count_}, slices, tag);
    }
    if (result == CopyResult::Fault) counters.add(DeviceCounter::CopyFaults);
    return result;
}

CopyResult Segments::write(AddressSpace& memory, std::span<const std::uint8_t> bytes, bool last, CopyTag tag,
                           DeviceCounters& counters) const {
    if (count_ == 0) return CopyResult::Done;
    const std::size_t tail = last ? std::min(bytes.size(), kTailBytes) : 0;
    CopyResult result = CopyResult::Fault;
    if (all_mapped()) {
        if (write_mapped(bytes, tail)) return CopyResult::Done;
        if (!retired_ && any_retired()) counters.add(DeviceCounter::MappingsRetired);
    } else if (!retired_) {
        result = memory.write({pieces_.data(), count_}, bytes, tail, tag);
    }
    if (result == CopyResult::Fault) counters.add(DeviceCounter::CopyFaults);
    return result;
}

/// Slices and segments side by side.
bool Segments::read_mapped(std::span<const std::span<std::uint8_t>> slices) const {
    std::size_t at = 0;
    std::uint64_t used = 0;
    for (std::span<std::uint8_t> slice : slices) {
        while (!slice.empty()) {
            const std::size_t take = std::min<std::uint64_t>(slice.size(), pieces_[at].length - used);
            if (!mapping(at).read(offset(at) + used, slice.first(take))) return false;
            slice = slice.subspan(take);
            used += take;
            if (used == pieces_[at].length) ++at, used = 0;
        }
    }
    return true;
}

bool Segments::write_mapped(std::span<const std::uint8_t> bytes, std::size_t tail) const {
    const std::size_t body = bytes.size() - tail;
    std::size_t done = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        for (std::uint64_t used = 0; used < pieces_[i].length;) {
            const std::size_t until = done < body ? body : bytes.size();
            const std::size_t take = std::min<std::uint64_t>(pieces_[i].length - used, until - done);
            const auto part = bytes.subspan(done, take);
            const bool written = done < body ? mapping(i).write(offset(i) + used, part)
                                             : mapping(i).write_in_order(offset(i) + used, part);
            if (!written) return false;
            used += take;
            done += take;
        }
    }
    return true;
}

bool Segments::any_retired() const {
    for (std::size_t i = 0; i < count_; ++i)
        if (mapping(i).retired()) return true;
    return false;
}

}  // namespace vroce::nic
