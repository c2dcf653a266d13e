// Memory that an application shares with the NIC by a descriptor (memfd, hugetlbfs, /dev/shm): copied without a system
// call. The file stays the application's: truncation and hole punching turn a copy into a fault, which is caught and
// retires the mapping.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace vroce::nic {

/// One MR's mapping. Worker thread; made and unmapped on the control thread.
class MappedMemory {
public:
    /// Maps [offset, offset + length) of the file; nullptr when it cannot be (any reason: the caller uses another way).
    /// Does not take the descriptor.
    static std::unique_ptr<MappedMemory> map(int fd, std::uint64_t offset, std::uint64_t length, bool writable);
    ~MappedMemory();
    MappedMemory(const MappedMemory&) = delete;
    MappedMemory& operator=(const MappedMemory&) = delete;

    /// False: the memory is gone; so are all later copies.
    [[nodiscard]] bool read(std::uint64_t offset, std::span<std::uint8_t> to);
    [[nodiscard]] bool write(std::uint64_t offset, std::span<const std::uint8_t> from);
    [[nodiscard]] bool retired() const { return retired_; }

private:
    MappedMemory(void* base, std::uint64_t bytes, std::uint64_t skew) : base_(base), bytes_(bytes), skew_(skew) {}

    void* base_;
    std::uint64_t bytes_;
    std::uint64_t skew_;  ///< from the mapping's start (page aligned) to offset 0
    bool retired_ = false;
};

}  // namespace vroce::nic
