#include "nic/memory/mapped_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "common/base/fault_guard.hpp"

namespace vroce::nic {

namespace {

/// The unit that mmap's offset must be a multiple of: a huge page on hugetlbfs.
std::uint64_t page_bytes_of(const struct stat& status) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto block = static_cast<std::uint64_t>(status.st_blksize);
    return block > page && (block & (block - 1)) == 0 ? block : page;
}

}  // namespace

std::unique_ptr<MappedMemory> MappedMemory::map(int fd, std::uint64_t offset, std::uint64_t length, bool writable) {
    struct stat status {};
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || length == 0) return nullptr;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (offset > size || length > size - offset) return nullptr;
    const std::uint64_t page = page_bytes_of(status);
    const std::uint64_t skew = offset % page;
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* base = mmap(nullptr, length + skew, protection, MAP_SHARED, fd, static_cast<off_t>(offset - skew));
    if (base == MAP_FAILED) return nullptr;
    return std::unique_ptr<MappedMemory>(new MappedMemory(base, length + skew, skew));
}

MappedMemory::~MappedMemory() {
    munmap(base_, bytes_);
}

bool MappedMemory::read(std::uint64_t offset, std::span<std::uint8_t> to) {
    if (retired_) return false;
    const std::uint8_t* from = static_cast<const std::uint8_t*>(base_) + skew_ + offset;
    retired_ = !guard_faults([&] { std::memcpy(to.data(), from, to.size()); });
    return !retired_;
}

bool MappedMemory::write(std::uint64_t offset, std::span<const std::uint8_t> from) {
    if (retired_) return false;
    std::uint8_t* to = static_cast<std::uint8_t*>(base_) + skew_ + offset;
    retired_ = !guard_faults([&] { std::memcpy(to, from.data(), from.size()); });
    return !retired_;
}

}  // namespace vroce::nic
