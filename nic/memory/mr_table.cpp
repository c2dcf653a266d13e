#include "nic/memory/mr_table.hpp"

#include <bit>

namespace vroce::nic {

MrTable::MrTable(std::size_t capacity, std::function<std::uint32_t()> random32)
    : random32_(std::move(random32)), capacity_(capacity), mask_(std::bit_ceil(capacity * 2) - 1), slots_(mask_ + 1) {}

std::size_t MrTable::home(std::uint32_t key) const {
    return key & mask_;
}

MemoryRegion* MrTable::insert(MemoryRegion region) {
    if (size_ == capacity_) return nullptr;
    do region.key = random32_();
    while (region.key == 0 || find(region.key) != nullptr);
    std::size_t slot = home(region.key);
    while (slots_[slot] != nullptr) slot = (slot + 1) & mask_;
    slots_[slot] = std::make_unique<MemoryRegion>(std::move(region));
    ++size_;
    return slots_[slot].get();
}

MemoryRegion* MrTable::find(std::uint32_t key) {
    for (std::size_t slot = home(key); slots_[slot] != nullptr; slot = (slot + 1) & mask_)
        if (slots_[slot]->key == key) return slots_[slot].get();
    return nullptr;
}

std::unique_ptr<MappedMemory> MrTable::erase(std::uint32_t key) {
    std::size_t hole = home(key);
    while (slots_[hole] != nullptr && slots_[hole]->key != key) hole = (hole + 1) & mask_;
    if (slots_[hole] == nullptr) return nullptr;
    std::unique_ptr<MappedMemory> mapping = std::move(slots_[hole]->mapping);
    slots_[hole].reset();
    --size_;
    // Linear probing without tombstones: whoever stands behind the hole and belongs at or before it moves up.
    for (std::size_t slot = (hole + 1) & mask_; slots_[slot] != nullptr; slot = (slot + 1) & mask_) {
        const std::size_t distance_home = (slot - home(slots_[slot]->key)) & mask_;
        const std::size_t distance_hole = (slot - hole) & mask_;
        if (distance_home < distance_hole) continue;
        slots_[hole] = std::move(slots_[slot]);
        hole = slot;
    }
    return mapping;
}

MrTable::Checked MrTable::check(std::uint32_t key, PdId pd, std::uint64_t va, std::uint64_t length,
                                std::uint32_t access) {
    MemoryRegion* region = find(key);
    if (region == nullptr) return {RemoteAccess::BadKey, nullptr};
    if (region->pd != pd) return {RemoteAccess::WrongPd, nullptr};
    const std::uint64_t offset = va - region->iova;
    if (va < region->iova || offset > region->length || length > region->length - offset)
        return {RemoteAccess::OutOfBounds, nullptr};
    if ((region->access & access) != access) return {RemoteAccess::NoPermission, nullptr};
    return {RemoteAccess::Ok, region};
}

void MrTable::for_each(const std::function<void(const MemoryRegion&)>& visit) const {
    for (const auto& region : slots_)
        if (region != nullptr) visit(*region);
}

}  // namespace vroce::nic
