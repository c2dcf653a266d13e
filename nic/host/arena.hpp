// Memory that the NIC owns and applications map: sealed memfds, so that no application can shrink one under the NIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "provider/abi/vroce_abi.h"

namespace vroce::nic {

/// A memfd of fixed size, mapped here.
class SharedMemory {
public:
    enum class Writable : std::uint8_t { Everybody, OnlyUs };

    /// OnlyUs: F_SEAL_FUTURE_WRITE, whoever maps it later may only read.
    static Result<SharedMemory> create(const char* name, std::size_t bytes, Writable writable);
    SharedMemory(SharedMemory&& other) noexcept;
    SharedMemory& operator=(SharedMemory&& other) noexcept;
    ~SharedMemory();

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] std::span<std::byte> bytes() const { return {base_, size_}; }
    /// The file is not handed out again; the mapping stays.
    void close_fd();

private:
    SharedMemory(int fd, std::byte* base, std::size_t size) : fd_(fd), base_(base), size_(size) {}

    int fd_ = -1;
    std::byte* base_ = nullptr;
    std::size_t size_ = 0;
};

/// One per NIC process: which workers sleep.
class StatusPage {
public:
    static Result<std::unique_ptr<StatusPage>> create(std::uint32_t workers);

    [[nodiscard]] int fd() const { return memory_.fd(); }
    [[nodiscard]] std::size_t bytes() const { return memory_.bytes().size(); }
    [[nodiscard]] std::uint32_t workers() const { return page()->workers; }
    /// Worker: before its last look at the doorbells (true), and after waking up (false). Sequentially consistent.
    void set_sleeping(std::uint32_t worker, bool sleeping);

private:
    explicit StatusPage(SharedMemory memory) : memory_(std::move(memory)) {}
    [[nodiscard]] vroce_status_page* page() const {
        return reinterpret_cast<vroce_status_page*>(memory_.bytes().data());
    }

    SharedMemory memory_;
};

/// A piece of an arena, zeroed when it is given out.
struct ArenaPlace {
    std::uint32_t arena = 0;
    std::uint64_t offset = 0;
    std::uint64_t arena_bytes = 0;
    std::span<std::byte> memory;
    int new_fd = -1;  ///< the arena's descriptor when the application does not have it yet; stays the arena's
};

/// The arenas of one context: few, each larger than the one before; pieces are reused. Control thread only.
class ArenaSet {
public:
    static constexpr std::uint64_t kFirstArenaBytes = 1024 * 1024;
    static constexpr std::uint64_t kArenaBytesMax = 256 * 1024 * 1024;
    static constexpr std::uint64_t kAlignment = 64;
    static constexpr std::uint64_t kContextBytesMax = std::uint64_t{2} * 1024 * 1024 * 1024;

    explicit ArenaSet(std::uint64_t limit_bytes = kContextBytesMax) : limit_bytes_(limit_bytes) {}

    /// nullopt: the context's limit is reached or memory is short.
    [[nodiscard]] std::optional<ArenaPlace> allocate(std::uint64_t bytes);
    /// The reply with `new_fd` of this arena was sent.
    void announced(std::uint32_t arena);
    /// Gives a piece back that allocate gave out.
    void free(std::uint32_t arena, std::uint64_t offset);

    [[nodiscard]] std::size_t arenas() const { return arenas_.size(); }
    [[nodiscard]] std::uint64_t bytes_used() const { return used_bytes_; }

private:
    struct Arena {
        SharedMemory memory;
        bool announced = false;
        std::uint64_t touched_bytes = 0;                     ///< beyond it nobody was given anything: still zero
        std::map<std::uint64_t, std::uint64_t> free_pieces;  ///< offset -> bytes; neighbours are merged
        std::map<std::uint64_t, std::uint64_t> used_pieces;
    };
    [[nodiscard]] std::optional<ArenaPlace> allocate_in(std::uint32_t index, std::uint64_t bytes);
    [[nodiscard]] bool grow(std::uint64_t bytes);

    std::uint64_t limit_bytes_;
    std::uint64_t used_bytes_ = 0;
    std::uint64_t mapped_bytes_ = 0;
    std::vector<Arena> arenas_;
};

}  // namespace vroce::nic
