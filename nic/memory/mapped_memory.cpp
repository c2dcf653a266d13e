#include "nic/memory/mapped_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
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

template <typename Word>
void store_word(std::uint8_t* to, const std::uint8_t* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    std::atomic_ref<Word>(*reinterpret_cast<Word*>(to)).store(word, std::memory_order_release);
}

/// In aligned words where they fit: a program may poll on any byte of the end, and the last one is seen last.
void store_ascending(std::uint8_t* to, std::span<const std::uint8_t> from) {
    for (std::size_t i = 0; i < from.size();) {
        const bool aligned = reinterpret_cast<std::uintptr_t>(to + i) % sizeof(std::uint64_t) == 0;
        if (aligned && from.size() - i >= sizeof(std::uint64_t)) {
            store_word<std::uint64_t>(to + i, from.data() + i);
            i += sizeof(std::uint64_t);
        } else {
            store_word<std::uint8_t>(to + i, from.data() + i);
            ++i;
        }
    }
}

}  // namespace

std::unique_ptr<MappedMemory> MappedMemory::map(int fd, std::uint64_t offset, std::uint64_t length, bool writable) {
    struct stat status {};
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || length == 0) return nullptr;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (offset > size || length > size - offset) return nullptr;
    const std::uint64_t page = page_bytes_of(status);
    const std::uint64_t skew = offset % page;
    // Whole pages: munmap of a part of a huge one fails.
    const std::uint64_t bytes = (length + skew + page - 1) / page * page;
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* base = mmap(nullptr, bytes, protection, MAP_SHARED, fd, static_cast<off_t>(offset - skew));
    if (base == MAP_FAILED) return nullptr;
    return std::unique_ptr<MappedMemory>(new MappedMemory(base, bytes, skew, length));
}

MappedMemory::~MappedMemory() {
    munmap(base_, bytes_);
}

bool MappedMemory::read(std::uint64_t offset, std::span<std::uint8_t> to) {
    if (!usable(offset, to.size())) return false;
    const std::uint8_t* from = at(offset);
    retired_ = !guard_faults([&] { std::memcpy(to.data(), from, to.size()); });
    return !retired_;
}

bool MappedMemory::write(std::uint64_t offset, std::span<const std::uint8_t> from) {
    if (!usable(offset, from.size())) return false;
    std::uint8_t* to = at(offset);
    retired_ = !guard_faults([&] { std::memcpy(to, from.data(), from.size()); });
    return !retired_;
}

bool MappedMemory::write_in_order(std::uint64_t offset, std::span<const std::uint8_t> from) {
    if (!usable(offset, from.size())) return false;
    std::uint8_t* to = at(offset);
    retired_ = !guard_faults([&] { store_ascending(to, from); });
    return !retired_;
}

}  // namespace vroce::nic
