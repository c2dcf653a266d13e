// Memory that an application shares with the NIC by a descriptor (memfd, hugetlbfs, /dev/shm): copied without a system
// call. The file stays the application's: truncation, or a hole punched where no page can be had again, turns a copy
// into a fault, which is caught and retires the mapping.
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

    /// False: the memory is gone, and so are all later copies; or the range is not in the mapping.
    [[nodiscard]] bool read(std::uint64_t offset, std::span<std::uint8_t> to);
    [[nodiscard]] bool write(std::uint64_t offset, std::span<const std::uint8_t> from);
    /// A message's end: its bytes become visible in ascending order, after all that was written before (design D4).
    [[nodiscard]] bool write_in_order(std::uint64_t offset, std::span<const std::uint8_t> from);
    [[nodiscard]] bool retired() const { return retired_; }

private:
    MappedMemory(void* base, std::uint64_t bytes, std::uint64_t skew, std::uint64_t length)
        : base_(base), bytes_(bytes), skew_(skew), length_(length) {}
    [[nodiscard]] bool usable(std::uint64_t offset, std::size_t bytes) const {
        return !retired_ && offset <= length_ && bytes <= length_ - offset;
    }
    [[nodiscard]] std::uint8_t* at(std::uint64_t offset) const {
        return static_cast<std::uint8_t*>(base_) + skew_ + offset;
    }

    void* base_;
    std::uint64_t bytes_;   ///< whole pages of the file
    std::uint64_t skew_;    ///< from the mapping's start (page aligned) to offset 0
    std::uint64_t length_;  ///< of the MR
    bool retired_ = false;
};

}  // namespace vroce::nic
