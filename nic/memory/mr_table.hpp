// Memory regions by key. A key is 32 random bits, so that knowing one says nothing of another; every access is checked
// against domain, bounds and rights.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "nic/memory/address_space.hpp"
#include "nic/memory/mapped_memory.hpp"
#include "nic/transport/qp_env.hpp"

namespace vroce::nic {

/// Protection domains are numbers of the whole device, so that domains of two contexts never meet.
using PdId = std::uint32_t;

struct MemoryRegion {
    std::uint32_t key = 0;
    PdId pd = 0;
    std::uint64_t addr = 0;  ///< in the application
    std::uint64_t length = 0;
    std::uint64_t iova = 0;  ///< what work requests call `addr`
    std::uint32_t access = 0;
    AddressSpace* space = nullptr;
    std::unique_ptr<MappedMemory> mapping;  ///< where the memory is shared, instead of `space`
};

class MrTable {
public:
    /// `random32` gives keys; from a generator that nobody can predict.
    MrTable(std::size_t capacity, std::function<std::uint32_t()> random32);

    /// Takes the region and gives it a key; nullptr when the table is full.
    MemoryRegion* insert(MemoryRegion region);
    /// The region's mapping, if it had one, for whoever may take the time to unmap it.
    std::unique_ptr<MappedMemory> erase(std::uint32_t key);
    [[nodiscard]] MemoryRegion* find(std::uint32_t key);
    [[nodiscard]] std::size_t size() const { return size_; }

    struct Checked {
        RemoteAccess verdict;
        MemoryRegion* region;  ///< when the verdict is Ok
    };
    /// Whether [va, va + length) may be accessed with all of `access` (0: reading by the owner) in domain `pd`.
    [[nodiscard]] Checked check(std::uint32_t key, PdId pd, std::uint64_t va, std::uint64_t length,
                                std::uint32_t access);

    void for_each(const std::function<void(const MemoryRegion&)>& visit) const;

private:
    [[nodiscard]] std::size_t home(std::uint32_t key) const;

    std::function<std::uint32_t()> random32_;
    std::size_t capacity_;
    std::size_t size_ = 0;
    std::size_t mask_;
    std::vector<std::unique_ptr<MemoryRegion>> slots_;  ///< open addressing, at most half full
};

}  // namespace vroce::nic
