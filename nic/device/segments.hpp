// The checked ranges of memory regions that a part of a message falls into, and how bytes get in and out of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "nic/device/device_counters.hpp"
#include "nic/memory/mr_table.hpp"
#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

class Segments {
    static_assert(VROCE_MAX_SGE <= AddressSpace::kPiecesMax);

public:
    /// [va, va + length) lies in the region.
    void add(MemoryRegion& region, std::uint64_t va, std::uint64_t length) {
        pieces_[count_] = {region.addr + (va - region.iova), length, region.key};
        regions_[count_++] = &region;
        if (region.mapping == nullptr) return;
        ++mapped_;
        retired_ = retired_ || region.mapping->retired();
    }
    [[nodiscard]] CopyResult read(AddressSpace& memory, RoomSlices slices, CopyTag tag, DeviceCounters& counters) const;
    /// `last`: the bytes end a message; its last bytes are written after the rest.
    [[nodiscard]] CopyResult write(AddressSpace& memory, ByteSlices slices, bool last, CopyTag tag,
                                   DeviceCounters& counters) const;

private:
    // A message that lies partly in mapped memory goes by system calls as a whole: they reach shared memory too, and
    // one call, which may be Pending, keeps the order of its end.
    [[nodiscard]] bool all_mapped() const { return mapped_ == count_; }
    [[nodiscard]] bool read_mapped(RoomSlices slices) const;
    [[nodiscard]] bool write_mapped(ByteSlices slices, std::uint64_t body) const;
    [[nodiscard]] MappedMemory& mapping(std::size_t i) const { return *regions_[i]->mapping; }
    [[nodiscard]] std::uint64_t offset(std::size_t i) const { return pieces_[i].addr - regions_[i]->addr; }
    [[nodiscard]] bool any_retired() const;

    std::array<RemotePiece, VROCE_MAX_SGE> pieces_;
    std::array<MemoryRegion*, VROCE_MAX_SGE> regions_;
    std::size_t count_ = 0;
    std::size_t mapped_ = 0;
    bool retired_ = false;
};

}  // namespace vroce::nic
