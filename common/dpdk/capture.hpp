// Writes the frames of a port to a pcap file while it runs. The worker copies a frame into a ring; a side thread writes
// files. What does not fit into the ring is counted, never waited for.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/spsc_ring.hpp"
#include "common/packet/packet.hpp"

namespace vroce {

class Capture {
public:
    static constexpr std::size_t kSlots = 4'096;
    static constexpr std::uint32_t kSnapBytes = 9'216;

    /// Opens `file` (LINKTYPE_ETHERNET, nanosecond timestamps) and starts the side thread.
    static Result<std::unique_ptr<Capture>> start(const std::string& file);
    /// Writes what is left and closes the file.
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    /// Worker: one frame. Any number of ports of one worker may share a capture.
    void record(const Packet& packet);
    [[nodiscard]] std::uint64_t written() const { return written_.load(std::memory_order_relaxed); }
    /// Did not fit into the ring, or into the file (a full disk): that one ends with its last whole record.
    [[nodiscard]] std::uint64_t missed() const { return missed_.load(std::memory_order_relaxed); }

private:
    struct Slot {
        std::uint64_t wall_ns;
        std::uint32_t length;
        std::uint8_t bytes[kSnapBytes];
    };
    explicit Capture(int fd);
    void write_loop();
    bool write_some();
    bool append_to_file();

    int fd_;
    off_t file_bytes_;  ///< whole records
    bool file_full_ = false;
    std::unique_ptr<SpscRing<Slot, kSlots>> ring_;
    std::atomic<std::uint64_t> written_{0};
    std::atomic<std::uint64_t> missed_{0};
    std::atomic<bool> stop_{false};
    std::vector<std::uint8_t> buffer_;
    std::thread writer_;
};

}  // namespace vroce
