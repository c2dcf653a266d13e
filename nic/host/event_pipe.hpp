// A pipe of event records from the worker to an application: completion channel (8 bytes) or async events (16).
// What the pipe has no room for is held here, bounded, and written later; nothing is lost while somebody can read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "common/base/result.hpp"

namespace vroce::nic {

/// What became of an event.
enum class EventFate : std::uint8_t {
    Written,
    Held,      ///< the pipe is full
    Merged,    ///< the same event of the same object is held already: the application sees one
    NoReader,  ///< the application closed its end
};

/// The worker's, except where it says otherwise.
class EventPipe {
public:
    static constexpr std::size_t kRecordBytesMax = 16;

    /// `pipe_bytes`: how large the pipe is to be; less is taken when the kernel's limits say so.
    static Result<std::unique_ptr<EventPipe>> create(std::size_t record_bytes, std::size_t pipe_bytes);
    ~EventPipe();
    EventPipe(const EventPipe&) = delete;
    EventPipe& operator=(const EventPipe&) = delete;

    /// Control thread, while the worker does not know the pipe: the application's ends. The write end is an open file
    /// of its own, so that nobody can make ours blocking.
    [[nodiscard]] int read_fd() const { return read_fd_; }
    [[nodiscard]] int application_write_fd() const { return application_write_fd_; }
    /// The application has its ends.
    void close_application_ends();

    /// `owner` is the object that the event is about (never a number that the application chose), `kind` tells events
    /// of one owner apart.
    EventFate write(std::uint64_t owner, std::uint32_t kind, std::span<const std::byte> record);
    /// Writes what is held as far as there is room; false while something is left.
    bool flush();
    /// The owner goes: takes back what is held of it and returns how many records were ever written about it.
    std::uint32_t retire(std::uint64_t owner);

    /// Any thread.
    [[nodiscard]] bool holding() const { return holding_.load(std::memory_order_acquire); }
    /// Control thread: for waiting until there is room.
    [[nodiscard]] int write_fd() const { return write_fd_; }

private:
    struct Held {
        std::uint64_t owner;
        std::uint32_t kind;
        std::array<std::byte, kRecordBytesMax> record;
    };
    enum class Attempt : std::uint8_t { Done, Full, NoReader };

    explicit EventPipe(std::size_t record_bytes) : record_bytes_(record_bytes) {}
    Attempt try_write(std::uint64_t owner, const std::byte* record);
    void close_fd(int& fd);

    std::size_t record_bytes_;
    int read_fd_ = -1;
    int write_fd_ = -1;
    int application_write_fd_ = -1;
    std::deque<Held> held_;
    std::set<std::pair<std::uint64_t, std::uint32_t>> held_keys_;  ///< (owner, kind) of held_
    std::unordered_map<std::uint64_t, std::uint32_t> written_;
    std::atomic<bool> holding_{false};
};

}  // namespace vroce::nic
