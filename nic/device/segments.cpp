#include "nic/device/segments.hpp"

#include <algorithm>

namespace vroce::nic {

namespace {

/// A message's end is written after the rest: programs poll on its last byte (design D4).
constexpr std::uint64_t kTailBytes = 64;

}  // namespace

CopyResult Segments::read(AddressSpace& memory, RoomSlices slices, CopyTag tag, DeviceCounters& counters) const {
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

CopyResult Segments::write(AddressSpace& memory, ByteSlices slices, bool last, CopyTag tag,
                           DeviceCounters& counters) const {
    if (count_ == 0) return CopyResult::Done;
    const std::uint64_t bytes = total_bytes(slices);
    const std::uint64_t tail = last ? std::min(bytes, kTailBytes) : 0;
    CopyResult result = CopyResult::Fault;
    if (all_mapped()) {
        if (write_mapped(slices, bytes - tail)) return CopyResult::Done;
        if (!retired_ && any_retired()) counters.add(DeviceCounter::MappingsRetired);
    } else if (!retired_) {
        result = memory.write({pieces_.data(), count_}, slices, tail, tag);
    }
    if (result == CopyResult::Fault) counters.add(DeviceCounter::CopyFaults);
    return result;
}

/// Slices and segments side by side.
bool Segments::read_mapped(RoomSlices slices) const {
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

/// As above; what lies behind `body` is written in order.
bool Segments::write_mapped(ByteSlices slices, std::uint64_t body) const {
    std::size_t at = 0;
    std::uint64_t used = 0;
    std::uint64_t done = 0;
    for (std::span<const std::uint8_t> slice : slices) {
        while (!slice.empty()) {
            std::uint64_t take = std::min<std::uint64_t>(slice.size(), pieces_[at].length - used);
            if (done < body) take = std::min(take, body - done);
            const auto part = slice.first(take);
            const bool written = done < body ? mapping(at).write(offset(at) + used, part)
                                             : mapping(at).write_in_order(offset(at) + used, part);
            if (!written) return false;
            slice = slice.subspan(take);
            used += take;
            done += take;
            if (used == pieces_[at].length) ++at, used = 0;
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
