// A pipe of fixed-size event records that the NIC writes and libibverbs reads, and the plugin's third hand in it:
// taking back the records of an object that is being destroyed, and adding some when the NIC is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace vroce::provider {

class EventPipe {
public:
    /// Records of 8 bytes (completion channel) or 16 (async events); both begin with the element.
    explicit EventPipe(std::size_t record_bytes) : record_bytes_(record_bytes) {}
    ~EventPipe();
    EventPipe(const EventPipe&) = delete;
    EventPipe& operator=(const EventPipe&) = delete;

    /// `read_fd` stays the application's (it may close it when it likes); `write_fd` is ours, non-blocking.
    void open(int read_fd, int write_fd);
    [[nodiscard]] int read_fd() const { return read_fd_; }

    /// Removes the unread records whose element is `element` and returns how many there were; the others keep their
    /// order among themselves.
    std::uint32_t withdraw(std::uint64_t element);
    /// Adds a record; what the pipe has no room for is held.
    void add(const void* record);
    /// Writes what is held; false while something is left.
    bool flush_held();

private:
    std::vector<std::byte> take_all();
    void put_back(const std::byte* bytes, std::size_t size);

    std::size_t record_bytes_;
    int read_fd_ = -1;
    int write_fd_ = -1;
    std::mutex mutex_;
    std::vector<std::byte> held_;  ///< records in order, to be written before anything else
};

}  // namespace vroce::provider
