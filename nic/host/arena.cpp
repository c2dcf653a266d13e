#include "nic/host/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace vroce::nic {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
    return (value + step - 1) / step * step;
}

Error system_error(const char* what) {
    return {std::string(what) + ": " + std::strerror(errno)};
}

}  // namespace

Result<SharedMemory> SharedMemory::create(const char* name, std::size_t bytes, Writable writable) {
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return system_error("memfd_create");
    SharedMemory memory(fd, nullptr, 0);
    if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return system_error("ftruncate of a memfd");
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return system_error("mmap of a memfd");
    memory.base_ = static_cast<std::byte*>(base);
    memory.size_ = bytes;
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (writable == Writable::OnlyUs) seals |= F_SEAL_FUTURE_WRITE;
    if (fcntl(fd, F_ADD_SEALS, seals) != 0) return system_error("sealing of a memfd");
    return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      base_(std::exchange(other.base_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    return *this;
}

SharedMemory::~SharedMemory() {
    if (base_ != nullptr) munmap(base_, size_);
    close_fd();
}

void SharedMemory::close_fd() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
}

Result<std::unique_ptr<StatusPage>> StatusPage::create(std::uint32_t workers) {
    constexpr std::uint64_t kBytes = round_up(sizeof(vroce_status_page), kPageBytes);
    Result<SharedMemory> memory = SharedMemory::create("vroce-status", kBytes, SharedMemory::Writable::OnlyUs);
    if (!memory) return Error{memory.error()};
    std::unique_ptr<StatusPage> status(new StatusPage(std::move(*memory)));
    vroce_status_page& page = *status->page();
    page.major = VROCE_ABI_MAJOR;
    page.minor = VROCE_ABI_MINOR;
    page.workers = std::min(workers, static_cast<std::uint32_t>(std::size(page.worker)));
    std::atomic_ref<std::uint32_t>(page.magic).store(VROCE_ABI_MAGIC, std::memory_order_release);
    return status;
}

// Pairs with the plugin's ring_doorbell: it sets the bit and then reads the word, we set the word and then look for
// bits; one of the two sees the other.
void StatusPage::set_sleeping(std::uint32_t worker, bool sleeping) {
    std::atomic_ref<std::uint32_t>(page()->worker[worker].sleeping).store(sleeping ? 1 : 0, std::memory_order_seq_cst);
}

std::optional<ArenaPlace> ArenaSet::allocate(std::uint64_t bytes) {
    if (bytes == 0 || bytes > kArenaBytesMax) return std::nullopt;
    const std::uint64_t rounded = round_up(bytes, kAlignment);
    for (std::uint32_t i = 0; i < arenas_.size(); ++i)
        if (auto place = allocate_in(i, rounded)) return place;
    if (!grow(rounded)) return std::nullopt;
    return allocate_in(static_cast<std::uint32_t>(arenas_.size() - 1), rounded);
}

std::optional<ArenaPlace> ArenaSet::allocate_in(std::uint32_t index, std::uint64_t bytes) {
    Arena& arena = arenas_[index];
    const auto piece = std::find_if(arena.free_pieces.begin(), arena.free_pieces.end(),
                                    [bytes](const auto& p) { return p.second >= bytes; });
    if (piece == arena.free_pieces.end()) return std::nullopt;
    const auto [offset, room] = *piece;
    arena.free_pieces.erase(piece);
    if (room > bytes) arena.free_pieces.emplace(offset + bytes, room - bytes);
    arena.used_pieces.emplace(offset, bytes);
    used_bytes_ += bytes;
    const std::span<std::byte> memory = arena.memory.bytes().subspan(offset, bytes);
    // What nobody was given yet is zero by itself and not touched, so that it costs no memory before its use.
    if (offset < arena.touched_bytes) std::memset(memory.data(), 0, std::min(bytes, arena.touched_bytes - offset));
    arena.touched_bytes = std::max(arena.touched_bytes, offset + bytes);
    return ArenaPlace{index, offset, arena.memory.bytes().size(), memory, arena.announced ? -1 : arena.memory.fd()};
}

bool ArenaSet::grow(std::uint64_t bytes) {
    const std::uint64_t next = arenas_.empty() ? kFirstArenaBytes : arenas_.back().memory.bytes().size() * 2;
    const std::uint64_t left = limit_bytes_ - std::min(limit_bytes_, mapped_bytes_);
    const std::uint64_t wish = std::clamp(next, round_up(bytes, kPageBytes), kArenaBytesMax);
    const std::uint64_t size = wish <= left ? wish : round_up(bytes, kPageBytes);
    if (size > left) return false;
    Result<SharedMemory> memory = SharedMemory::create("vroce-arena", size, SharedMemory::Writable::Everybody);
    if (!memory) return false;
    arenas_.push_back({std::move(*memory), false, 0, {{0, size}}, {}});
    mapped_bytes_ += size;
    return true;
}

void ArenaSet::announced(std::uint32_t arena) {
    // The application holds it now; we need the mapping only.
    arenas_[arena].announced = true;
    arenas_[arena].memory.close_fd();
}

void ArenaSet::free(std::uint32_t index, std::uint64_t offset) {
    Arena& arena = arenas_[index];
    const auto used = arena.used_pieces.find(offset);
    if (used == arena.used_pieces.end()) return;
    std::uint64_t begin = offset;
    std::uint64_t bytes = used->second;
    used_bytes_ -= bytes;
    arena.used_pieces.erase(used);
    auto next = arena.free_pieces.lower_bound(begin);
    if (next != arena.free_pieces.end() && next->first == begin + bytes) {
        bytes += next->second;
        next = arena.free_pieces.erase(next);
    }
    if (next != arena.free_pieces.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == begin) {
            begin = previous->first;
            bytes += previous->second;
            arena.free_pieces.erase(previous);
        }
    }
    arena.free_pieces.emplace(begin, bytes);
}

}  // namespace vroce::nic
