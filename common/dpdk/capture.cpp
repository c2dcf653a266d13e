#include "common/dpdk/capture.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace vroce {

namespace {

/// libpcap's file format with nanoseconds, written in this machine's byte order as its magic number says.
struct FileHeader {
    std::uint32_t magic = 0xA1B23C4D;
    std::uint16_t major = 2;
    std::uint16_t minor = 4;
    std::int32_t zone = 0;
    std::uint32_t accuracy = 0;
    std::uint32_t snap_bytes = Capture::kSnapBytes;
    std::uint32_t link_type = 1;
};
struct RecordHeader {
    std::uint32_t seconds;
    std::uint32_t nanoseconds;
    std::uint32_t captured_bytes;
    std::uint32_t frame_bytes;
};
constexpr std::size_t kRecordsPerWrite = 64;

std::uint64_t wall_clock_ns() {
    timespec ts{};
    clock_gettime(CLOCK_REALTIME, &ts);  // vDSO: no system call
    return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(ts.tv_nsec);
}

}  // namespace

Result<std::unique_ptr<Capture>> Capture::start(const std::string& file) {
    const int fd = open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0) return Error{file + ": cannot be written: " + std::strerror(errno)};
    const FileHeader header;
    if (write(fd, &header, sizeof header) != sizeof header) {
        close(fd);
        return Error{file + ": cannot be written: " + std::strerror(errno)};
    }
    return std::unique_ptr<Capture>(new Capture(fd));
}

Capture::Capture(int fd) : fd_(fd), slots_(new Slot[kSlots]), writer_([this] { write_loop(); }) {}

Capture::~Capture() {
    stop_.store(true);
    writer_.join();
    close(fd_);
}

void Capture::record(const Packet& packet) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == kSlots) {
        missed_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    Slot& slot = slots_[head % kSlots];
    slot.wall_ns = wall_clock_ns();
    slot.length = packet.length;
    std::memcpy(slot.bytes, packet.data, packet.length < kSnapBytes ? packet.length : kSnapBytes);
    head_.store(head + 1, std::memory_order_release);
}

void Capture::write_loop() {
    while (!stop_.load()) {
        if (!write_some()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    while (write_some()) {
    }
}

bool Capture::write_some() {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const std::uint64_t ready = head_.load(std::memory_order_acquire) - tail;
    const std::uint64_t count = ready < kRecordsPerWrite ? ready : kRecordsPerWrite;
    buffer_.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
        const Slot& slot = slots_[(tail + i) % kSlots];
        const std::uint32_t kept = slot.length < kSnapBytes ? slot.length : kSnapBytes;
        const RecordHeader header{static_cast<std::uint32_t>(slot.wall_ns / 1'000'000'000u),
                                  static_cast<std::uint32_t>(slot.wall_ns % 1'000'000'000u), kept, slot.length};
        const auto* raw = reinterpret_cast<const std::uint8_t*>(&header);
        buffer_.insert(buffer_.end(), raw, raw + sizeof header);
        buffer_.insert(buffer_.end(), slot.bytes, slot.bytes + kept);
    }
    tail_.store(tail + count, std::memory_order_release);
    if (count == 0) return false;
    if (write(fd_, buffer_.data(), buffer_.size()) == static_cast<ssize_t>(buffer_.size()))
        written_.fetch_add(count, std::memory_order_relaxed);
    else
        missed_.fetch_add(count, std::memory_order_relaxed);
    return true;
}

}  // namespace vroce
