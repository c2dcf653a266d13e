#include "common/dpdk/capture.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
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

Capture::Capture(int fd)
    : fd_(fd), file_bytes_(sizeof(FileHeader)), ring_(new SpscRing<Slot, kSlots>), writer_([this] { write_loop(); }) {}

Capture::~Capture() {
    stop_.store(true);
    writer_.join();
    close(fd_);
}

void Capture::record(const Packet& packet) {
    Slot* slot = ring_->claim();
    if (slot == nullptr) {
        missed_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    slot->wall_ns = wall_clock_ns();
    slot->length = packet.length;
    std::memcpy(slot->bytes, packet.data, std::min(packet.length, kSnapBytes));
    ring_->publish();
}

void Capture::write_loop() {
    while (!stop_.load()) {
        if (!write_some()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    while (write_some()) {
    }
}

bool Capture::write_some() {
    buffer_.clear();
    std::uint64_t count = 0;
    for (; count < kRecordsPerWrite; ++count) {
        const Slot* slot = ring_->front();
        if (slot == nullptr) break;
        const std::uint32_t kept = std::min(slot->length, kSnapBytes);
        const RecordHeader header{static_cast<std::uint32_t>(slot->wall_ns / 1'000'000'000u),
                                  static_cast<std::uint32_t>(slot->wall_ns % 1'000'000'000u), kept, slot->length};
        const auto* raw = reinterpret_cast<const std::uint8_t*>(&header);
        buffer_.insert(buffer_.end(), raw, raw + sizeof header);
        buffer_.insert(buffer_.end(), slot->bytes, slot->bytes + kept);
        ring_->discard();
    }
    if (count == 0) return false;
    (append_to_file() ? written_ : missed_).fetch_add(count, std::memory_order_relaxed);
    return true;
}

/// False when the file takes no more: a part of a record would make all that follows unreadable, so it is cut off.
bool Capture::append_to_file() {
    if (file_full_) return false;
    if (write(fd_, buffer_.data(), buffer_.size()) == static_cast<ssize_t>(buffer_.size())) {
        file_bytes_ += static_cast<off_t>(buffer_.size());
        return true;
    }
    file_full_ = true;
    [[maybe_unused]] const int cut = ftruncate(fd_, file_bytes_);
    return false;
}

}  // namespace vroce
